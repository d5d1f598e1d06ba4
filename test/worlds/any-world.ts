import {
  array,
  boolean,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  record,
  tuple,
  uniqueArray,
  type Arbitrary,
} from "fast-check";
import { Condition } from "../../src/core/condition.ts";
import { EntryState, SurfaceEntry } from "../../src/core/entry.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { GapCode, gap, type Gap } from "../../src/core/gap.ts";
import { matchContent } from "../../src/core/match-content.ts";
import { Matcher, matcherFingerprint } from "../../src/core/matcher.ts";
import { contentOf } from "../../src/core/text.ts";
import { retained } from "./observations.ts";

/** Small worlds in which much is there, little is known, and every kind of condition can come out in every way. */

const PATHS = [
  "a",
  "data",
  "data/a",
  "data/b.txt",
  "out",
  "out/a",
  "out/b.txt",
  "out/sub/c",
  "x.pyc",
];
export const anyUri: Arbitrary<string> = constantFrom(...PATHS.map((path) => `workspace:/${path}`));

const matchers = [
  { kind: "contains", value: "key" },
  { kind: "contains", value: "KEY", caseSensitive: false },
  { kind: "equals", value: "key" },
  { kind: "regex", pattern: "k.y" },
  { kind: "digest", sha256: digestOf(new TextEncoder().encode("key")) },
  { kind: "json", path: "/k", value: 1 },
  { kind: "empty" },
].map((each) => Matcher.parse(each));

const encoder = new TextEncoder();
const anyBytes: Arbitrary<Uint8Array> = oneof(
  constantFrom("", "key", "a key\r\n", "KEY", "none", '{"k":1}', "ключ key").map((text) =>
    encoder.encode(text),
  ),
  constantFrom("key", "none").map((text) =>
    Uint8Array.from(Buffer.from(`\uFEFF${text}`, "utf16le")),
  ),
  constant(Uint8Array.of(0xff, 0xff, 0, 0, 0x6b, 0x65, 0x79)),
  constant(Uint8Array.of(0xff, 0xff, 0, 0)),
);

const unreadCodes = constantFrom<GapCode>(
  "read_failed",
  "read_limit_exceeded",
  "changed_during_read",
  "content_redacted",
);

/** What a source may have kept of a file: all, a head, findings, or nothing and why. */
const anyFile: Arbitrary<EntryState> = record({
  bytes: anyBytes,
  keep: constantFrom("whole", "head", "none", "unread"),
  cut: integer({ min: 0, max: 3 }),
  probed: boolean(),
  mode: constantFrom(0o644, 0o755),
  code: unreadCodes,
}).map(({ bytes, keep, cut, probed, mode, code }) =>
  EntryState.parse({
    type: "file",
    sizeBytes: bytes.length,
    mode,
    ...(keep === "unread" ? { unread: { code } } : { sha256: digestOf(bytes) }),
    ...(keep === "whole" ? { content: retained(bytes, true) } : {}),
    ...(keep === "head" ? { content: { ...headOf(bytes, cut) } } : {}),
    ...(probed && keep !== "unread" ? { findings: findingsOver(bytes) } : {}),
  }),
);

/** The head of a content, kept as it was read as a whole. */
function headOf(bytes: Uint8Array, cut: number) {
  const kept = retained(bytes, true);
  if (kept.encoding === "binary")
    return {
      ...kept,
      value: Buffer.from(bytes.subarray(0, cut)).toString("base64"),
      truncated: true,
    };
  return { ...kept, value: kept.value.slice(0, cut), truncated: true };
}

/** What a source records when every byte passed through its hands. */
function findingsOver(bytes: Uint8Array) {
  const facts = { sizeBytes: bytes.length, sha256: digestOf(bytes) };
  return matchers.flatMap((matcher) => {
    const { value } = matchContent(matcher, facts, contentOf(bytes, true));
    return value === "unknown" ? [] : [{ matcher: matcherFingerprint(matcher), finding: value }];
  });
}

const anyState: Arbitrary<EntryState> = oneof(
  { weight: 8, arbitrary: anyFile },
  {
    weight: 2,
    arbitrary: constantFrom(0o755, 0o700).map((mode) =>
      EntryState.parse({ type: "directory", sizeBytes: 0, mode }),
    ),
  },
  { weight: 1, arbitrary: constant(EntryState.parse({ type: "fifo", sizeBytes: 0 })) },
  {
    weight: 1,
    arbitrary: constant(
      EntryState.parse({
        type: "link",
        sizeBytes: 1,
        linkTarget: "b",
        unread: { code: "link_outside_root" },
      }),
    ),
  },
);

const anyReasons = constantFrom<GapCode[]>(
  ["baseline_missing"],
  ["baseline_partial"],
  ["read_limit_exceeded", "clock_uncertain"],
);

const anyEntry = (uri: string, from: string): Arbitrary<SurfaceEntry> =>
  tuple(
    constantFrom("created", "modified", "touched", "deleted", "moved", "unknown"),
    anyState,
    option(anyState),
    anyReasons,
  ).map(([change, now, before, reasons]) =>
    SurfaceEntry.parse({
      uri,
      change,
      ...(change === "deleted" ? {} : { now }),
      ...(before === null ? {} : { before }),
      ...(change === "moved" ? { from } : {}),
      ...(change === "unknown" ? { reasons } : {}),
    }),
  );

export const anyEntries: Arbitrary<readonly SurfaceEntry[]> = uniqueArray(anyUri, {
  maxLength: 4,
}).chain((uris) => tuple(...uris.map((uri) => anyUri.chain((from) => anyEntry(uri, from)))));

export const anyGap: Arbitrary<Gap> = tuple(
  constantFrom(...GapCode.options),
  oneof(anyUri, constant("workspace:/**")),
).map(([code, location]) => gap(code, location));

const anyLeaf: Arbitrary<unknown> = oneof(
  tuple(anyUri, option(constantFrom(...matchers))).map(([uri, matcher]) => ({
    kind: "content_written",
    uri,
    ...(matcher === null ? {} : { matcher }),
  })),
  tuple(
    constantFrom("workspace:/**", "workspace:/data/**", "workspace:/out/*.txt", "workspace:/*"),
    constantFrom(...matchers),
  ).map(([uri, matcher]) => ({ kind: "content_written", match: "glob", uri, matcher })),
  anyUri.map((uri) => ({ kind: "content_removed", uri })),
  constantFrom("workspace:/**", "workspace:/data/**").map((uri) => ({
    kind: "content_removed",
    match: "glob",
    uri,
  })),
  array(
    constantFrom(
      "workspace:/out/**",
      "workspace:/data/*",
      "workspace:/a",
      "workspace:/**",
      "@noise",
    ),
    { maxLength: 3 },
  ).map((allow) => ({ kind: "changed_only", allow })),
);

/** A condition of any kind, or two joined. */
export const anyCondition: Arbitrary<Condition> = oneof(
  { weight: 5, arbitrary: anyLeaf },
  {
    weight: 1,
    arbitrary: tuple(
      constantFrom("all", "any", "majority"),
      array(anyLeaf, { minLength: 1, maxLength: 3 }),
    ).map(([kind, of]) => ({ kind, of })),
  },
  { weight: 1, arbitrary: anyLeaf.map((of) => ({ kind: "not", of })) },
).map((each) => Condition.parse(each));

export const anyMethod = constantFrom("exact", "baseline", "window", "none");
