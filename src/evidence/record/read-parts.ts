import { UpheldError } from "../../core/errors.ts";
import type { GapCode } from "../../core/gap.ts";
import { parseStrictJson, parseStrictJsonBytes } from "../../core/strict-json.ts";
import type { Hasher } from "../hasher.ts";
import { blobName } from "../layout.ts";
import { BUNDLE_LIMITS } from "../limits.ts";
import type { BundleReader } from "../reader.ts";
import type { EvidencePart, EvidenceStatement, StoredPart } from "../statement.ts";
import { JSON_TYPE, LINES_TYPE } from "./part-titles.ts";

/** The parts of a bundle by title, as far as they are JSON. */
export interface Parts {
  readonly titles: readonly string[];
  /** Without their salts. */
  readonly json: ReadonlyMap<string, unknown>;
  /** The lines of a part without its salt. */
  readonly lines: ReadonlyMap<string, readonly unknown[]>;
  /** The parts whose bytes are not here, and the gap that each leaves. */
  readonly missing: ReadonlyMap<string, GapCode>;
}

/**
 * Reads the parts that an intact statement lists. Throws "bundle_invalid" where bytes are no longer those that were verified, or
 * are more than JSON may have.
 */
export async function readParts(
  reader: BundleReader,
  statement: EvidenceStatement,
  hasher: Hasher,
): Promise<Parts> {
  const json = new Map<string, unknown>();
  const lines = new Map<string, readonly unknown[]>();
  const missing = new Map<string, GapCode>();
  const listing = await reader.list();
  if (!listing.ok)
    throw new UpheldError("bundle_invalid", "the bundle was changed after it was verified");
  const names = new Set(listing.files.map(({ name }) => name));
  for (const part of statement.predicate.parts) {
    const code = missingCode(part, names);
    if (code !== undefined) missing.set(part.title, code);
    if (code !== undefined || part.state === "omitted") continue;
    if (part.mediaType === JSON_TYPE)
      json.set(part.title, unsalted(parseStrictJsonBytes(await bytesOf(reader, part, hasher))));
    else if (part.mediaType === LINES_TYPE)
      lines.set(part.title, linesOf(await bytesOf(reader, part, hasher)));
  }
  return { titles: statement.predicate.parts.map(({ title }) => title), json, lines, missing };
}

/** A part whose file an intact bundle lacks was withheld from this copy. */
function missingCode(part: EvidencePart, names: ReadonlySet<string>): GapCode | undefined {
  switch (part.state) {
    case "present":
    case "redacted":
      return names.has(blobName(part.digest)) ? undefined : "part_withheld";
    case "withheld":
      return "part_withheld";
    case "omitted":
      return "text_not_retained";
  }
}

/** Between verifying and reading, a file can be changed. */
async function bytesOf(
  reader: BundleReader,
  { title, digest, sizeBytes }: StoredPart,
  hasher: Hasher,
): Promise<Uint8Array> {
  if (sizeBytes > BUNDLE_LIMITS.maxJsonBytes)
    throw new UpheldError(
      "bundle_invalid",
      `${title} has ${sizeBytes} bytes, at most ${BUNDLE_LIMITS.maxJsonBytes} are read as JSON`,
    );
  const bytes = await reader.read({ name: blobName(digest), sizeBytes });
  if ((await hasher.sha256(bytes)) === digest) return bytes;
  throw new UpheldError("bundle_invalid", `${title} was changed after it was verified`);
}

function unsalted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== "salt"));
}

function linesOf(bytes: Uint8Array): readonly unknown[] {
  const texts = new TextDecoder("utf-8", { fatal: true }).decode(bytes).split("\n");
  const lines = texts.filter((text) => text !== "").map((text) => parseStrictJson(text));
  return isSalt(lines[0]) ? lines.slice(1) : lines;
}

function isSalt(line: unknown): boolean {
  return (
    typeof line === "object" && line !== null && Object.keys(line).length === 1 && "salt" in line
  );
}
