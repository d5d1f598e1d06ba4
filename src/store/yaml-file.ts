import { readFileSync } from "node:fs";
import { LineCounter, isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";
import type { Document } from "yaml";
import { isUpheldError, UpheldError, type ErrorCode } from "../core/errors.ts";

/** A file that a person writes is read whole; nobody writes a larger one by hand. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The form of a file: how its value is read, and the code of the error that tells of a place that is not of the form. */
export interface YamlForm<T> {
  /** Throws an error with the form's code, a line "path.to.place: what was expected" each. */
  readonly parse: (value: unknown) => T;
  readonly code: ErrorCode;
}

/**
 * Reads a file that people write, YAML or JSON. Throws "file_unreadable", and the form's error with the file, line and column of
 * each place that is not of the form, and what was expected there.
 */
export function readYamlFile<T>(path: string, form: YamlForm<T>): T {
  const text = readText(path);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    const told = problems.slice(0, 5).map((each) => {
      const at = lines.linePos(each.pos[0]);
      return `${path}:${at.line}:${at.col}: ${each.message}`;
    });
    throw new UpheldError(form.code, told.join("\n"));
  }
  return parseValue(form, { path, document, lines });
}

function parseValue<T>({ parse, code }: YamlForm<T>, source: Source): T {
  let value: unknown;
  try {
    value = source.document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new UpheldError(code, `${source.path}: ${message}`, { cause });
  }
  try {
    return parse(value);
  } catch (error) {
    if (!isUpheldError(error) || error.code !== code) throw error;
    const told = error.message.split("\n").map((issue) => locate(issue, source));
    throw new UpheldError(code, told.join("\n"), { cause: error.cause });
  }
}

interface Source {
  readonly path: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** "claims.yaml:4:7: subGoals.0.name: expected a plain name". */
function locate(issue: string, { path, document, lines }: Source): string {
  const [place = ""] = issue.split(": ");
  const offset = offsetOf(document, place.split("."));
  if (offset === undefined) return `${path}: ${issue}`;
  const at = lines.linePos(offset);
  return `${path}:${at.line}:${at.col}: ${issue}`;
}

/** Where the node of a path stands, or the nearest one above it that is there. */
function offsetOf(document: Document, keys: readonly string[]): number | undefined {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const key of keys) {
    const next = stepInto(node, key);
    if (next === undefined) break;
    offset = next.offset ?? offset;
    node = next.node;
  }
  return offset;
}

function stepInto(
  node: unknown,
  key: string,
): { readonly node: unknown; readonly offset: number | undefined } | undefined {
  if (isMap(node)) {
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    return pair === undefined ? undefined : { node: pair.value, offset: startOf(pair.key) };
  }
  if (!isSeq(node)) return undefined;
  const item: unknown = node.items[Number(key)];
  return { node: item, offset: startOf(item) };
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
    throw new UpheldError("file_unreadable", `cannot read ${path}: ${code}`, { cause });
  }
  if (bytes.length > MAX_BYTES)
    throw new UpheldError(
      "file_unreadable",
      `${path} has ${bytes.length} bytes, at most ${MAX_BYTES} are read`,
    );
  return bytes.toString("utf8");
}
