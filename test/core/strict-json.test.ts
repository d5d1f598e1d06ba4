import { assert, constantFrom, json, nat, oneof, property, string, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalJson,
  canonicalJsonBytes,
  MAX_JSON_DEPTH,
} from "../../src/core/canonical-json.ts";
import { UpheldError } from "../../src/core/errors.ts";
import { parseStrictJson, parseStrictJsonBytes } from "../../src/core/strict-json.ts";
import { anyJson, thrownBy } from "../support/json-values.ts";
import { tableOf } from "../support/json-table.ts";

describe("parseStrictJson refuses", () => {
  const table: readonly [string, string, string][] = [
    ["nothing", "", "the value: "],
    ["only space", " \n", "the value: "],
    ["a duplicate key", '{"a":{"b":1,"b":1}}', "/a/b: "],
    ["a duplicate key spelt with an escape", '{"a":1,"\\u0061":2}', "/a: "],
    ["a duplicate __proto__", '{"__proto__":1,"__proto__":2}', "/__proto__: "],
    ["an overflowing number", "[1e400]", "/0: "],
    ["a vanishing number", "[1e-400]", "/0: "],
    ["a whole number that a double does not keep", '{"id":9007199254740993}', "/id: "],
    ["a large negative whole number", "-9007199254740993", "the value: "],
    ["too many levels", "[".repeat(MAX_JSON_DEPTH + 1), "/0"],
    ["a million levels", "[".repeat(1_000_000), "/0"],
    ["half an emoji", '["\\ud83d"]', "/0: "],
    ["half an emoji, raw", '["\udc00"]', "/0: "],
    ["an open text", '["a', "/0: "],
    ["an open escape", '["a\\', "/0: "],
    ["a wrong escape", '["\\x"]', "/0: "],
    ["a short escape", '["\\u12"]', "/0: "],
    ["a raw control character", '["\u0001"]', "/0: "],
    ["a leading zero", "[01]", "the value: "],
    ["a plus sign", "[+1]", "/0: "],
    ["a bare point", "[.5]", "/0: "],
    ["a trailing point", "[1.]", "the value: "],
    ["NaN", "[NaN]", "/0: "],
    ["a trailing comma", "[1,]", "/1: "],
    ["a trailing comma in an object", '{"a":1,}', "the value: "],
    ["a missing colon", '{"a" 1}', "/a: "],
    ["a bare key", "{a:1}", "the value: "],
    ["a wrong word", "[tru]", "/0: "],
    ["text behind the value", "{} x", "the value: "],
    ["a comment", "[1] // x", "the value: "],
    ["a byte order mark", "\ufeff[]", "the value: "],
    ["a no-break space", "\u00a0[]", "the value: "],
  ];

  test.each(table)("%s", (_name, text, start) => {
    const error = thrownBy(() => parseStrictJson(text));
    expect(error.code).toBe("json_invalid");
    expect(error.message.slice(0, start.length)).toBe(start);
  });

  test("bytes that are not UTF-8, and a byte order mark", () => {
    expect(thrownBy(() => parseStrictJsonBytes(Uint8Array.of(0x22, 0xff, 0x22))).code).toBe(
      "json_invalid",
    );
    expect(thrownBy(() => parseStrictJsonBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).code).toBe(
      "json_invalid",
    );
  });

  test("the message never quotes a value", () => {
    expect(thrownBy(() => parseStrictJson('["secret\\x"]')).message).not.toContain("secret");
  });
});

/** JSON with one character replaced: mostly broken, sometimes something else. */
const mutatedJson = tuple(
  json(),
  nat(),
  constantFrom("", '"', "\\", "{", "]", "0", "-", "e9", ",", " "),
).map(([text, at, piece]) => {
  const place = at % (text.length + 1);
  return text.slice(0, place) + piece + text.slice(place + 1);
});

/** Whether the strict reader refuses a text, or else reads what JSON.parse reads. */
function refusesOrAgrees(text: string): boolean {
  let read: unknown;
  try {
    read = parseStrictJson(text);
  } catch (error) {
    return error instanceof UpheldError;
  }
  return canonicalJson(read) === canonicalJson(JSON.parse(text));
}

describe("laws", () => {
  test("what is written reads back to the same text, also through JSON.parse", () => {
    assert(
      property(anyJson, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(parseStrictJson(text))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(canonicalJson(parseStrictJsonBytes(canonicalJsonBytes(value)))).toBe(text);
      }),
    );
  });

  test("it reads what JSON.parse reads, or refuses", () => {
    assert(
      property(oneof(json(), string(), mutatedJson), (text) => {
        expect(refusesOrAgrees(text)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("it takes all JSON that loses nothing, with space in it", () => {
    assert(
      property(anyJson, (value) => {
        const text = JSON.stringify(value, null, 1);
        expect(canonicalJson(parseStrictJson(text))).toBe(canonicalJson(value));
      }),
    );
  });
});

test("2 MB are read whole", () => {
  const value = tableOf(16_000);
  expect(parseStrictJson(canonicalJson(value))).toEqual(value);
});
