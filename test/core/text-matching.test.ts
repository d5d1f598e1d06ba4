import { assert, constantFrom, integer, oneof, property, string, uint8Array } from "fast-check";
import { describe, expect, test } from "vitest";
import { EntryState, matchState } from "../../src/core/entry.ts";
import { matchContent, type Finding } from "../../src/core/match-content.ts";
import { Matcher, matcherFingerprint } from "../../src/core/matcher.ts";
import { bytesOf, contentOf, utf16 } from "../../src/core/text.ts";
import { file } from "../worlds/observations.ts";

const encoder = new TextEncoder();

function find(matcher: unknown, bytes: Uint8Array | string, whole = true): Finding["value"] {
  const content = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
  return matchContent(
    Matcher.parse(matcher),
    { sizeBytes: content.length },
    contentOf(content, whole),
  ).value;
}

const base64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
const contains = (value: string, more: object = {}): unknown => ({
  kind: "contains",
  value,
  ...more,
});
const equals = (value: string, more: object = {}): unknown => ({ kind: "equals", value, ...more });
const regex = (pattern: string, more: object = {}): unknown => ({
  kind: "regex",
  pattern,
  ...more,
});
const json = (path: string, value: unknown): unknown => ({ kind: "json", path, value });

const rows: readonly {
  claim: string;
  matcher: unknown;
  bytes: Uint8Array | string;
  whole?: boolean;
  want: Finding["value"];
}[] = [
  {
    claim: "UTF-16 with a mark (text-01)",
    matcher: contains("key=1"),
    bytes: base64("//5rAGUAeQA9ADEADQAKAA=="),
    want: "present",
  },
  {
    claim: "UTF-16 without a mark (text-02)",
    matcher: contains("key"),
    bytes: base64("dABoAGUAIABrAGUAeQAgAGkAcwAgAGgAZQByAGUA"),
    want: "present",
  },
  {
    claim: "a byte-order mark is not content (text-03)",
    matcher: equals("answer"),
    bytes: base64("77u/YW5zd2Vy"),
    want: "present",
  },
  {
    claim: "a second mark is",
    matcher: equals("answer"),
    bytes: "\uFEFF\uFEFFanswer",
    want: "absent",
  },
  {
    claim: "line endings are alike (text-04)",
    matcher: contains("alpha\nbeta"),
    bytes: "alpha\r\nbeta\r\n",
    want: "present",
  },
  {
    claim: "and differ where asked to (text-04)",
    matcher: contains("alpha\nbeta", { lineEndings: "exact" }),
    bytes: "alpha\r\nbeta\r\n",
    want: "absent",
  },
  { claim: "a lone CR is a line end", matcher: equals("a\nb"), bytes: "a\rb", want: "present" },
  { claim: "nothing is trimmed", matcher: equals("a"), bytes: "a\n", want: "absent" },
  {
    claim: "a head that ends within a character is text (text-05)",
    matcher: contains("key"),
    bytes: encoder.encode(`${"a".repeat(8190)}\u8A9E`).subarray(0, 8192),
    whole: false,
    want: "unknown",
  },
  {
    claim: "the whole of it is (text-05)",
    matcher: contains("key"),
    bytes: `${"a".repeat(8190)}\u8A9E end\n`,
    want: "absent",
  },
  {
    claim: "a text across the border of two reads (text-06)",
    matcher: contains("key"),
    bytes: `${"a".repeat(65534)}key${"b".repeat(1000)}`,
    want: "present",
  },
  {
    claim: "the tail of a file is not assumed (text-07)",
    matcher: contains("key"),
    bytes: "x".repeat(1000),
    whole: false,
    want: "unknown",
  },
  {
    claim: "an invalid byte at the cut is not repaired",
    matcher: contains("key"),
    bytes: Uint8Array.of(0x61, 0xff),
    whole: false,
    want: "unknown",
  },
  {
    claim: "composed and decomposed are alike",
    matcher: contains("\u00FC"),
    bytes: "u\u0308",
    want: "present",
  },
  {
    claim: "and differ where asked to",
    matcher: contains("\u00FC", { unicode: "raw" }),
    bytes: "u\u0308",
    want: "absent",
  },
  { claim: "case differs", matcher: contains("Key"), bytes: "key", want: "absent" },
  {
    claim: "and does not where asked to",
    matcher: contains("STRASSE", { caseSensitive: false }),
    bytes: "stra\u00DFe",
    want: "present",
  },
  {
    claim: "a sigma at the end of a word",
    matcher: contains("\u03A3\u0391\u03A3", { caseSensitive: false }),
    bytes: "\u03C3\u03B1\u03C2",
    want: "present",
  },
  {
    claim: "text whose other reading holds it is open",
    matcher: contains("\u6261"),
    bytes: "ab",
    want: "unknown",
  },
  { claim: "and so is equality", matcher: equals("\u6261"), bytes: "ab", want: "unknown" },
  { claim: "a pattern over text", matcher: regex("k.y"), bytes: "a key", want: "present" },
  {
    claim: "a pattern sees line endings as they stand, too",
    matcher: regex("a\\r\\nb"),
    bytes: "a\r\nb",
    want: "present",
  },
  { claim: "and made alike", matcher: regex("a\\nb"), bytes: "a\r\nb", want: "present" },
  {
    claim: "a pattern in either form",
    matcher: regex("u\u0308."),
    bytes: "\u00FCx",
    want: "present",
  },
  {
    claim: "a pattern without case",
    matcher: regex("KEY", { caseSensitive: false }),
    bytes: "key",
    want: "present",
  },
  {
    claim: "a pattern over a head is open",
    matcher: regex("k.y"),
    bytes: "key",
    whole: false,
    want: "unknown",
  },
  {
    claim: "equality over a head is open",
    matcher: equals("key"),
    bytes: "key",
    whole: false,
    want: "unknown",
  },
  {
    claim: "base64, at any alignment",
    matcher: contains("sk-live-123", { alsoEncoded: ["base64"] }),
    bytes: Buffer.from("xxsk-live-123").toString("base64"),
    want: "present",
  },
  {
    claim: "base64 for urls",
    matcher: contains("\u00FF\u00FE\u00FF\u00FE~~~", { alsoEncoded: ["base64"] }),
    bytes: Buffer.from("\u00FF\u00FE\u00FF\u00FE~~~").toString("base64url"),
    want: "present",
  },
  {
    claim: "base64 in lines",
    matcher: contains("sk-live-1234567890", { alsoEncoded: ["base64"] }),
    bytes: Buffer.from("sk-live-1234567890")
      .toString("base64")
      .replaceAll(/(.{8})/g, "$1\r\n"),
    want: "present",
  },
  {
    claim: "hex in either case",
    matcher: contains("sk-live", { alsoEncoded: ["hex"] }),
    bytes: Buffer.from("sk-live").toString("hex").toUpperCase(),
    want: "present",
  },
  {
    claim: "URL encoding of any characters",
    matcher: contains("a b!", { alsoEncoded: ["url"] }),
    bytes: "x=%61+b%21",
    want: "present",
  },
  {
    claim: "URL encoding of wide ones",
    matcher: contains("\u00FC key", { alsoEncoded: ["url"] }),
    bytes: "x=%c3%BC%20key",
    want: "present",
  },
  {
    claim: "encodings are not looked at unless asked",
    matcher: contains("sk-live"),
    bytes: Buffer.from("sk-live").toString("hex"),
    want: "absent",
  },
  {
    claim: "a value in JSON",
    matcher: json("/order/0/status", "cancelled"),
    bytes: '\uFEFF{"order":[{"status":"cancelled"}]}',
    want: "present",
  },
  { claim: "numbers by value", matcher: json("/n", 1), bytes: '{"n":1.0}', want: "present" },
  { claim: "a list has no length", matcher: json("/length", 1), bytes: "[1]", want: "absent" },
  { claim: "a list has no item 00", matcher: json("/00", 1), bytes: "[1]", want: "absent" },
  { claim: "nothing is inherited", matcher: json("/toString", 1), bytes: "{}", want: "absent" },
  { claim: "what is no JSON is open", matcher: json("/a", 1), bytes: "{", want: "unknown" },
  {
    claim: "a key that stands twice is open",
    matcher: json("/a", 1),
    bytes: '{"a":1,"a":2}',
    want: "unknown",
  },
  { claim: "empty", matcher: { kind: "empty" }, bytes: "", want: "present" },
  {
    claim: "a mark alone is not empty",
    matcher: { kind: "empty" },
    bytes: "\uFEFF",
    want: "absent",
  },
  {
    claim: "bytes that are no text are open to a pattern",
    matcher: regex("key"),
    bytes: Uint8Array.of(0xff, 0xff, 0, 0, 0x6b, 0x65, 0x79),
    want: "unknown",
  },
  {
    claim: "a case-blind witness in them",
    matcher: contains("KEY", { caseSensitive: false }),
    bytes: Uint8Array.of(0xff, 0xff, 0, 0, 0x6b, 0x65, 0x79),
    want: "present",
  },
];

describe("matching", () => {
  test.each(rows.map((row) => [row.claim, row] as const))(
    "%s",
    (_, { matcher, bytes, whole, want }) => {
      expect(find(matcher, bytes, whole)).toBe(want);
    },
  );

  test.each([
    ["an empty text", contains("")],
    ["half a surrogate pair", contains("\uD800")],
    ["half a pair in a pattern", regex("\uD800")],
    ["a pattern that is none", regex("(")],
    ["a pattern with a back reference", regex("(a)\\1")],
    ["hex of a text that occurs by chance", contains("key", { alsoEncoded: ["hex"] })],
    ["a pointer that is none", json("a", 1)],
    ["an unknown option", contains("a", { trim: true })],
    ["an unknown kind", { kind: "like" }],
  ])("%s is refused", (_, matcher) => {
    expect(Matcher.safeParse(matcher).success).toBe(false);
  });

  const needles = constantFrom(
    "key",
    "\u00FC",
    "\u8A9E\u8A00",
    "a\r\nb",
    "\u{1F600}",
    "e\u0301",
    "\u1100\u1161",
    "\uFEFF",
    "\0",
    "k\0",
  );
  const spelled = needles.chain((needle) =>
    constantFrom("utf-8", "utf-16le", "utf-16be").map((encoding) => ({
      needle,
      bytes: encoding === "utf-8" ? encoder.encode(needle) : utf16(needle, encoding as "utf-16le"),
    })),
  );
  const around = oneof(
    uint8Array({ maxLength: 12 }),
    string({ maxLength: 6 }).map((text) => encoder.encode(text)),
    string({ maxLength: 6 }).map((text) => utf16(text, "utf-16le")),
    constantFrom(
      Uint8Array.of(0xff, 0xfe),
      Uint8Array.of(0xfe, 0xff),
      Uint8Array.of(0xef, 0xbb, 0xbf),
      Uint8Array.of(0xcc, 0x81),
    ),
  );
  const options = constantFrom(
    {},
    { lineEndings: "exact" },
    { unicode: "raw" },
    { caseSensitive: false },
    { unicode: "raw", caseSensitive: false },
  );

  test("content that holds the bytes of a text, in any of three encodings at any offset, is never found to lack it", () => {
    const found = { present: 0, unknown: 0 };
    assert(
      property(around, spelled, around, options, (head, { needle, bytes }, tail, how) => {
        const value = find(contains(needle, how), Buffer.concat([head, bytes, tail]));
        expect(value).not.toBe("absent");
        if (value !== "absent") found[value] += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(found.present).toBeGreaterThan(1_000);
  });

  test("no head of it, whatever its length, is found to lack it, and none has what the whole has not", () => {
    assert(
      property(around, spelled, around, options, (head, { needle, bytes }, tail, how) => {
        const content = Buffer.concat([head, bytes, tail]);
        const matcher = contains(needle, how);
        for (let length = 0; length <= content.length; length += 1)
          expect(find(matcher, content.subarray(0, length), false)).not.toBe("absent");
      }),
      { numRuns: 2_000 },
    );
  });

  test("what is found in a head is never absent in the whole", () => {
    const letters = string({
      unit: constantFrom(
        "e",
        "\u0301",
        "\u1100",
        "\u1161",
        "\u11A8",
        "\r",
        "\n",
        "\u00DF",
        "\u{1F600}",
        "\uFEFF",
      ),
      maxLength: 9,
    });
    assert(
      property(
        letters,
        letters.filter((text) => text !== ""),
        options,
        integer({ min: 0, max: 30 }),
        (text, needle, how, length) => {
          const bytes = encoder.encode(text);
          if (find(contains(needle, how), bytes.subarray(0, length), false) === "present")
            expect(find(contains(needle, how), bytes)).not.toBe("absent");
        },
      ),
      { numRuns: 30_000 },
    );
  });

  test("the control: text without it is found to lack it", () => {
    assert(
      property(string({ unit: constantFrom("a", "b", " ", "\n"), maxLength: 20 }), (text) => {
        expect(find(contains("key"), text)).toBe("absent");
      }),
    );
  });

  test("a head of combining marks alone takes no longer than text", () => {
    const marks = `x${"\u0301".repeat(200_000)}`;
    // Quadratic work over this text would outlast the time that a test has.
    expect(find(contains("key"), marks, false)).toBe("unknown");
  });
});

describe("text", () => {
  test("gives its bytes back", () => {
    assert(
      property(uint8Array({ maxLength: 40 }), (bytes) => {
        expect(Buffer.from(bytesOf(contentOf(bytes, true)))).toEqual(Buffer.from(bytes));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("a state", () => {
  const key = Matcher.parse(contains("key"));

  test("is decided by what was recorded over the whole of it", () => {
    const state = EntryState.parse({
      type: "file",
      sizeBytes: 9,
      sha256: file("x").sha256,
      findings: [{ matcher: matcherFingerprint(key), finding: "absent" }],
    });
    expect(matchState(key, state)).toEqual({ value: "absent" });
    expect(matchState(Matcher.parse(contains("other")), state)).toEqual({
      value: "unknown",
      reason: "text_not_retained",
    });
  });

  test("that was not read says why", () => {
    const state = EntryState.parse({ type: "file", sizeBytes: 9, unread: { code: "read_failed" } });
    expect(matchState(key, state)).toEqual({ value: "unknown", reason: "read_failed" });
    expect(matchState(undefined, state)).toEqual({ value: "present" });
  });

  test("of a link that was not read through has no size of its own", () => {
    const state = EntryState.parse({
      type: "link",
      sizeBytes: 9,
      linkTarget: "../../s",
      unread: { code: "link_outside_root" },
    });
    for (const matcher of [undefined, Matcher.parse({ kind: "empty" })])
      expect(matchState(matcher, state)).toEqual({ value: "unknown", reason: "link_outside_root" });
  });
});
