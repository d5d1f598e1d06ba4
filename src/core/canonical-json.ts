import { UpheldError } from "./errors.ts";

/** A value that JSON can hold without loss. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The deepest nesting of arrays and objects that is written or read. */
export const MAX_JSON_DEPTH = 64;

/** The keys and indexes that lead to a place in a value. */
export type JsonPath = readonly (string | number)[];

type Path = (string | number)[];

/**
 * Writes the one canonical text of a value (RFC 8785). Accepts null, booleans, well-formed strings,
 * finite numbers (-0 becomes 0), dense arrays and plain objects, at most `MAX_JSON_DEPTH` levels deep.
 * Throws "json_invalid", naming the place as a JSON pointer, on everything else: undefined, functions,
 * holes, NaN, BigInt, lone surrogates, Map, Date, Buffer, boxed values, class instances, symbol keys, cycles.
 * `toJSON` is never called.
 */
export function canonicalJson(value: unknown): string {
  return textOf(value, []);
}

/** The canonical text of a value as UTF-8: the bytes that are digested and kept. Throws as `canonicalJson`. */
export function canonicalJsonBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(textOf(value, []));
}

function textOf(value: unknown, path: Path): string {
  if (typeof value === "string") {
    return quote(value, path);
  }
  if (typeof value === "number") {
    return Number.isFinite(value)
      ? String(value)
      : refuseJson(path, `${value} is not a JSON number`);
  }
  if (value === null || typeof value === "boolean") {
    return String(value);
  }
  return typeof value === "object"
    ? containerText(value, path)
    : refuseJson(path, `a JSON value was expected, got ${typeof value}`);
}

function quote(text: string, path: JsonPath): string {
  const quoted = JSON.stringify(text);
  // Half a surrogate pair is written as an escape, so text without escapes needs no further look.
  const isPlain = quoted.length === text.length + 2;
  return isPlain || isWellFormed(text)
    ? quoted
    : refuseJson(path, "the text holds half a surrogate pair");
}

function containerText(value: object, path: Path): string {
  if (path.length >= MAX_JSON_DEPTH) {
    refuseJson(path, `nested deeper than ${MAX_JSON_DEPTH} levels, or the value contains itself`);
  }
  return Array.isArray(value) ? arrayText(value, path) : objectText(value, path);
}

function arrayText(values: readonly unknown[], path: Path): string {
  if (Object.getPrototypeOf(values) !== Array.prototype) {
    refuseJson(path, "a plain array was expected, got a subclass of Array");
  }
  const pieces: string[] = [];
  for (let index = 0; index < values.length; index += 1) {
    path.push(index);
    // A hole reads as undefined and is refused there.
    pieces.push(textOf(values[index], path));
    path.pop();
  }
  if (Reflect.ownKeys(values).length !== values.length + 1) {
    refuseJson(path, "the array has properties besides its elements");
  }
  return `[${pieces.join(",")}]`;
}

function objectText(value: object, path: Path): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    refuseJson(path, `a plain object was expected, got ${Object.prototype.toString.call(value)}`);
  }
  const keys = Object.keys(value);
  if (Reflect.ownKeys(value).length !== keys.length) {
    refuseJson(path, "the object has symbol or hidden properties");
  }
  const pieces: string[] = [];
  for (const key of keys.toSorted()) {
    path.push(key);
    const member = (value as Readonly<Record<string, unknown>>)[key]; // an own key of it
    pieces.push(`${quote(key, path)}:${textOf(member, path)}`);
    path.pop();
  }
  return `{${pieces.join(",")}}`;
}

const halfPair = /\p{Surrogate}/u;

/** Whether text has no half of a surrogate pair, and so has UTF-8 bytes. */
export function isWellFormed(text: string): boolean {
  return !halfPair.test(text);
}

/** Throws "json_invalid" with the place as a JSON pointer. Content is never quoted; keys are. */
export function refuseJson(path: JsonPath, what: string, cause?: unknown): never {
  const pointer = path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
  throw new UpheldError("json_invalid", `${pointer.slice(0, 500) || "the value"}: ${what}`, {
    cause,
  });
}
