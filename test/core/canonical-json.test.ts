import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { runInNewContext, runInThisContext } from "node:vm";
import canonicalize from "canonicalize";
import { assert, dictionary, integer, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalJson,
  canonicalJsonBytes,
  MAX_JSON_DEPTH,
} from "../../src/core/canonical-json.ts";
import { parseStrictJson } from "../../src/core/strict-json.ts";
import { anyJson, nested, thrownBy } from "../support/json-values.ts";
import { tableOf } from "../support/json-table.ts";

interface Case<Want> {
  readonly id: string;
  readonly kind: string;
  readonly input: { readonly json?: string; readonly js?: string };
  readonly want: Want;
}

interface Text {
  readonly canonical: string;
  readonly sha256: string;
  readonly bytes: number;
}

interface Refusal {
  readonly error: true;
  readonly path: string;
}

const cases = JSON.parse(
  readFileSync(new URL("../cases/canonical-json.json", import.meta.url), "utf8"),
) as readonly Case<Text | Refusal>[]; // our own file
const isRefusal = (row: Case<Text | Refusal>): row is Case<Refusal> => "error" in row.want;
const isText = (row: Case<Text | Refusal>): row is Case<Text> => !isRefusal(row);

/** The value of a case. One in JavaScript is evaluated here, so that its objects are of this realm. */
function valueOf({ json, js }: Case<unknown>["input"]): unknown {
  return json === undefined ? runInThisContext(js ?? "") : parseStrictJson(json);
}

describe("cases shared between languages", () => {
  test.each(cases.filter(isText))("$id: $kind", ({ input, want }) => {
    const text = canonicalJson(valueOf(input));
    const bytes = canonicalJsonBytes(valueOf(input));
    expect(text).toBe(want.canonical);
    expect(bytes.length).toBe(want.bytes);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(want.sha256);
    expect(canonicalJson(parseStrictJson(text))).toBe(text);
  });

  test.each(cases.filter(isRefusal))("$id: $kind", ({ input, want }) => {
    const error = thrownBy(() => canonicalJson(valueOf(input)));
    expect(error.code).toBe("json_invalid");
    expect(error.message).toMatch(new RegExp(`^${want.path}: `));
  });
});

describe("canonicalJson refuses what JSON does not have", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const withSymbol = { a: 1, [Symbol("hidden")]: 2 };
  const withHidden = Object.defineProperty({ a: 1 }, "b", { value: 2, enumerable: false });
  class Money {
    readonly cents = 5;
    toJSON(): number {
      return this.cents;
    }
  }
  const table: readonly [string, unknown, string][] = [
    ["undefined", undefined, "the value: "],
    ["an undefined member", { a: { b: undefined } }, "/a/b: "],
    ["an undefined element", [1, undefined], "/1: "],
    ["a function", { f() {} }, "/f: "],
    ["an own toJSON", { toJSON: () => 1 }, "/toJSON: "],
    ["an inherited toJSON", { price: new Money() }, "/price: "],
    ["a sparse array", { a: [1, , 3] }, "/a/1: "], // oxlint-disable-line no-sparse-arrays
    ["an array with a name", Object.assign([1], { extra: 2 }), "the value: "],
    ["a subclass of Array", new (class extends Array<number> {})(), "the value: "],
    ["a symbol", { s: Symbol("s") }, "/s: "],
    ["a symbol key", withSymbol, "the value: "],
    ["a hidden property", withHidden, "the value: "],
    ["a big integer", { n: 1n }, "/n: "],
    ["NaN", [Number.NaN], "/0: "],
    ["infinity", { a: Number.POSITIVE_INFINITY }, "/a: "],
    ["minus infinity", { a: Number.NEGATIVE_INFINITY }, "/a: "],
    ["a Map", { m: new Map([[1, 2]]) }, "/m: "],
    ["a Set", { m: new Set([1]) }, "/m: "],
    ["a Date", { at: new Date(0) }, "/at: "],
    ["a RegExp", [/x/], "/0: "],
    ["a Buffer", { b: Buffer.from("x") }, "/b: "],
    ["a Uint8Array", { b: new Uint8Array(2) }, "/b: "],
    ["a boxed number", { n: new Number(1) }, "/n: "],
    ["a boxed string", { n: new String("x") }, "/n: "],
    ["an Error", { e: new Error("x") }, "/e: "],
    ["an object of another realm", { o: runInNewContext("({})") }, "/o: "],
    ["half an emoji", ["\ud83d"], "/0: "],
    ["half an emoji in a key", { "x\udc00": 1 }, "/x"],
    ["a cycle", { a: cycle }, "/a/self/self"],
    ["a key with a slash and a tilde", { "a/b~c": undefined }, "/a~1b~0c: "],
    ["too many levels", nested(MAX_JSON_DEPTH + 1), "/"],
  ];

  test.each(table)("%s", (_name, value, start) => {
    const error = thrownBy(() => canonicalJson(value));
    expect(error.code).toBe("json_invalid");
    expect(error.message.slice(0, start.length)).toBe(start);
  });

  test("the message never quotes a value", () => {
    expect(thrownBy(() => canonicalJson({ a: "secret-\ud800" })).message).not.toContain("secret");
  });
});

describe("canonicalJson accepts", () => {
  const sparseKeys = Object.assign(Object.create(null) as object, { b: 1, a: [] });
  const table: readonly [string, unknown, string][] = [
    ["minus zero", [-0], "[0]"],
    ["an object without a prototype", sparseKeys, '{"a":[],"b":1}'],
    ["frozen values", Object.freeze({ a: Object.freeze([Object.freeze({})]) }), '{"a":[{}]}'],
    ["a key named __proto__", JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
    ["the same part twice", ((part: object) => [part, part])({ x: 1 }), '[{"x":1},{"x":1}]'],
    ["both forms of é as two keys", { "\u00e9": 1, "e\u0301": 2 }, '{"e\u0301":2,"\u00e9":1}'],
    ["an empty key", { "": 1 }, '{"":1}'],
  ];

  test.each(table)("%s", (_name, value, want) => {
    expect(canonicalJson(value)).toBe(want);
  });

  test(`${MAX_JSON_DEPTH} levels`, () => {
    const text = canonicalJson(nested(MAX_JSON_DEPTH));
    expect(canonicalJson(parseStrictJson(text))).toBe(text);
  });
});

describe("laws", () => {
  test("agrees with the package canonicalize", () => {
    assert(
      property(anyJson, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
    );
  });

  test("the order in which members were added does not matter", () => {
    assert(
      property(dictionary(string(), integer()), (members) => {
        const reversed = Object.fromEntries(Object.entries(members).toReversed());
        expect(canonicalJson(reversed)).toBe(canonicalJson({ ...members }));
      }),
    );
  });
});

test("2 MB are written whole", () => {
  expect(JSON.parse(canonicalJson(tableOf(16_000)))).toEqual(tableOf(16_000));
});
