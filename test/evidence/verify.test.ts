import { describe, expect, test } from "vitest";
import { digestOf } from "../../src/core/fingerprint.ts";
import type { Digest } from "../../src/core/ids.ts";
import type { BundleFile } from "../../src/evidence/bundle.ts";
import { plainHasher as hasher } from "../../src/evidence/hasher.ts";
import { blobName } from "../../src/evidence/layout.ts";
import { BUNDLE_LIMITS } from "../../src/evidence/limits.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { TAR_END_BYTES, tarHeader } from "../../src/evidence/tar.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import {
  answerOf,
  forged,
  fullInput,
  inOrder,
  type Json,
  seal,
  smallInput,
  tarOf,
  verifyTar,
} from "../support/sample-bundle.ts";

type Files = readonly BundleFile[];

const bundle = await seal(fullInput);
const { parts } = bundle.statement.predicate;
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const withoutName = (files: Files, name: string): Files =>
  files.filter((file) => file.name !== name);
const withBytes = (files: Files, name: string, bytes: Uint8Array): Files =>
  files.map((file) => (file.name === name ? { name, bytes } : file));
const bytesOf = (name: string): Uint8Array =>
  bundle.files.find((file) => file.name === name)?.bytes ?? new Uint8Array();

/** A change to one part of a statement. */
const part = (index: number, change: (part: Json) => void) => (statement: Json) => {
  change(statement.predicate.parts[index]);
};

/** A change after which the subjects are worked out again. */
const fitted = (change: (statement: Json) => void) => (statement: Json) => {
  change(statement);
  delete statement.subject;
};

const tarWith = (...pieces: Uint8Array[]): Uint8Array =>
  Uint8Array.from(Buffer.concat([...pieces, new Uint8Array(TAR_END_BYTES)]));

function nameOfPart(title: string): string {
  const part = parts.find((candidate) => candidate.title === title);
  return part !== undefined && "digest" in part ? blobName(part.digest) : "";
}

const transcript = nameOfPart("transcript.jsonl");
const observation = nameOfPart("observations/workspace.json");
const statementName = blobName(bundle.digest);
const manifestName = `blobs/sha256/${bundle.statement.subject[0]?.digest.sha256}`;

test("a bundle with a part of each state is intact, and its statement comes back as sealed", async () => {
  const answer = await verifyTar(tarOf(bundle.files), bundle.digest);
  expect(answer).toEqual({
    ok: true,
    digest: bundle.digest,
    statement: bundle.statement,
    signature: "absent",
    signatures: [],
    withheld: [],
  });
});

test("another bundle is intact in itself, but not the one that was recorded", async () => {
  const other = await seal(smallInput);
  const answer = await verifyTar(tarOf(other.files), bundle.digest);
  expect(answerOf(answer)).toBe(`digest_unexpected at ${other.digest}`);
});

describe("each file", () => {
  const names = bundle.files.map(({ name }) => name);

  test.each(names)("%s dropped", async (name) => {
    const answer = await verifyTar(tarOf(withoutName(bundle.files, name)));
    expect(answerOf(answer)).toBe(`file_missing at ${name}`);
  });

  test.each(names)("%s twice", async (name) => {
    const twice = bundle.files.flatMap((file) => (file.name === name ? [file, file] : [file]));
    expect(answerOf(await verifyTar(tarOf(twice)))).toBe(`order_wrong at ${name}`);
  });

  test.each(names)("%s emptied", async (name) => {
    const answer = await verifyTar(tarOf(withBytes(bundle.files, name, new Uint8Array())));
    expect(answer.ok).toBe(false);
  });

  test.each(names.slice(1))("%s moved to the front", async (name) => {
    const moved = bundle.files.toSorted((left, right) =>
      left.name === name ? -1 : right.name === name ? 1 : 0,
    );
    expect(answerOf(await verifyTar(tarOf(moved)))).toMatch(/^order_wrong at /);
  });

  test("all pairs swapped in content", async () => {
    for (const left of bundle.files) {
      for (const right of bundle.files) {
        if (left === right) continue;
        const swapped = bundle.files.map((file) => {
          if (file === left) return { name: file.name, bytes: right.bytes };
          return file === right ? { name: file.name, bytes: left.bytes } : file;
        });
        const answer = await verifyTar(tarOf(swapped));
        expect(answer.ok, `${left.name} with ${right.name}`).toBe(false);
      }
    }
  });
});

describe("changed files", () => {
  const extra = { name: blobName(digestOf(text("stray"))), bytes: text("stray") };
  const index = JSON.parse(new TextDecoder().decode(bytesOf("index.json")));
  const withIndex = (change: (copy: Json) => void): Files => {
    const copy = structuredClone(index);
    change(copy);
    return withBytes(bundle.files, "index.json", text(JSON.stringify(copy)));
  };
  const cases: readonly [string, Files, string][] = [
    ["a stray blob", inOrder([...bundle.files, extra]), `file_unexpected at ${extra.name}`],
    [
      "a part with other bytes of the same length",
      withBytes(bundle.files, observation, bytesOf(observation).toReversed()),
      `blob_changed at ${observation}`,
    ],
    [
      "a part cut short",
      withBytes(bundle.files, observation, bytesOf(observation).subarray(1)),
      "size_wrong at observations/workspace.json",
    ],
    [
      "a statement with a space at its end",
      withBytes(bundle.files, statementName, text(`${JSON.stringify(bundle.statement)} `)),
      `blob_changed at ${statementName}`,
    ],
    [
      "an image manifest with a space",
      withBytes(bundle.files, manifestName, Uint8Array.of(...bytesOf(manifestName), 0x20)),
      `derived_changed at ${manifestName}`,
    ],
    [
      "a checksum line left out",
      withBytes(
        bundle.files,
        "manifest-sha256.txt",
        bytesOf("manifest-sha256.txt").subarray(0, -143),
      ),
      "derived_changed at manifest-sha256.txt",
    ],
    [
      "another layout version",
      withBytes(bundle.files, "oci-layout", text('{"imageLayoutVersion":"1.0.1"}')),
      "derived_changed at oci-layout",
    ],
    [
      "an index of no JSON",
      withBytes(bundle.files, "index.json", text("{")),
      "index_invalid at index.json",
    ],
    [
      "an index with a space",
      withBytes(bundle.files, "index.json", text(`${JSON.stringify(index)} `)),
      "index_invalid at index.json",
    ],
    [
      "an index with one more entry",
      withIndex((copy) => copy.manifests.push({ mediaType: "x/y", digest: bundle.digest })),
      "index_invalid at index.json",
    ],
    [
      "an index with another size",
      withIndex((copy) => (copy.manifests[0].size += 1)),
      "index_invalid at index.json",
    ],
    [
      "an index that names two statements",
      withIndex((copy) => copy.manifests.push(copy.manifests[1])),
      "statement_ambiguous at index.json",
    ],
    [
      "an index that names no statement",
      withIndex((copy) => copy.manifests.pop()),
      "statement_missing at index.json",
    ],
    [
      "an index whose digest is a path",
      withIndex((copy) => (copy.manifests[1].digest = "sha256:../../etc/passwd")),
      "index_invalid at index.json",
    ],
    [
      "an index that takes a part for the statement",
      withIndex((copy) => (copy.manifests[1].digest = `sha256:${observation.slice(13)}`)),
      "statement_invalid at /_type",
    ],
  ];

  test.each(cases)("%s", async (_name, files, want) => {
    expect(answerOf(await verifyTar(tarOf(files)))).toBe(want);
  });
});

describe("statements that are forged with every digest made to fit", () => {
  const cases: readonly [string, (statement: Json) => void, string][] = [
    ["nothing changed", () => undefined, "intact"],
    ["an unknown field", (statement) => (statement.predicate.note = 1), "intact"],
    [
      "more shown than there are",
      part(0, (is) => (is.counts.shown = 3)),
      "statement_invalid at /predicate/parts/0/counts",
    ],
    [
      "a negative count",
      part(0, (is) => (is.counts.total = -1)),
      "statement_invalid at /predicate/parts/0/counts/total",
    ],
    [
      "a count of 1.5",
      part(1, (is) => (is.counts.total = 9.5)),
      "statement_invalid at /predicate/parts/1/counts/total",
    ],
    [
      "no count where one is due",
      part(3, (is) => delete is.counts),
      "statement_invalid at /predicate/parts/3/counts",
    ],
    [
      "an omitted part that shows something",
      part(3, (is) => (is.counts.shown = 1)),
      "statement_invalid at /predicate/parts/3/counts/shown",
    ],
    [
      "another size",
      fitted(part(0, (is) => (is.sizeBytes += 1))),
      "size_wrong at transcript.jsonl",
    ],
    [
      "a title changed, subjects too",
      fitted(part(0, (is) => (is.title = "other.jsonl"))),
      "intact",
    ],
    [
      "redacted, but nothing redacted",
      part(1, (is) => (is.redactions = [])),
      "statement_invalid at /predicate/parts/1/redactions/0",
    ],
    [
      "an unknown state",
      part(0, (is) => (is.state = "fine")),
      "statement_invalid at /predicate/parts/0/state",
    ],
    [
      "a title that is a path",
      part(0, (is) => (is.title = "../../etc/passwd")),
      "statement_invalid at /predicate/parts/0/title",
    ],
    [
      "an absolute title",
      part(0, (is) => (is.title = "/etc/passwd")),
      "statement_invalid at /predicate/parts/0/title",
    ],
    [
      "a title that is the manifest's",
      part(0, (is) => (is.title = "oci:manifest")),
      "statement_invalid at /predicate/parts/0/title",
    ],
    [
      "a title twice",
      part(1, (is) => (is.title = "transcript.jsonl")),
      "statement_invalid at /predicate/parts/1/title",
    ],
    [
      "a withheld part that is there",
      part(0, (is) => (is.state = "withheld")),
      "statement_invalid at /predicate/parts/3/digest",
    ],
    [
      "a withheld part called present",
      part(2, (is) => (is.state = "present")),
      `file_missing at blobs/sha256/${"cd".repeat(32)}`,
    ],
    [
      "another digest",
      part(2, (is) => (is.digest = is.digest.toUpperCase())),
      "statement_invalid at /predicate/parts/2/digest",
    ],
    [
      "a title changed",
      part(0, (is) => (is.title = "other.jsonl")),
      "subjects_wrong at /subject/0",
    ],
    ["a subject left out", (statement) => statement.subject.pop(), "subjects_wrong at /subject/4"],
    [
      "a subject added",
      (statement) => statement.subject.push(statement.subject[1]),
      "subjects_wrong at /subject/5",
    ],
    [
      "subjects in another order",
      (statement) => (statement.subject = statement.subject.toReversed()),
      "subjects_wrong at /subject/0",
    ],
    [
      "a part removed",
      (statement) => statement.predicate.parts.shift(),
      "subjects_wrong at /subject/0",
    ],
    [
      "more gaps than their total",
      (statement) => (statement.predicate.coverage[0].gapsTotal = 0),
      "statement_invalid at /predicate/coverage/0",
    ],
    [
      "another predicate",
      (statement) => (statement.predicateType = "https://upheld.dev/evidence/v2"),
      "statement_invalid at /predicateType",
    ],
    [
      "another statement type",
      (statement) => (statement._type = "https://in-toto.io/Statement/v0.1"),
      "statement_invalid at /_type",
    ],
    [
      "no run",
      (statement) => delete statement.predicate.run,
      "statement_invalid at /predicate/run",
    ],
  ];

  test.each(cases)("%s", async (_name, change, want) => {
    const files = await forged(bundle, change);
    expect(answerOf(await verifyTar(tarOf(files)))).toBe(want);
    // With a recorded digest no forgery passes, whatever it says.
    expect((await verifyTar(tarOf(files), bundle.digest)).ok).toBe(false);
  });

  test("a plausible lie is intact in itself; only a recorded digest shows it", async () => {
    const files = await forged(
      bundle,
      part(1, (is) => (is.counts.total = 1)),
    );
    expect(answerOf(await verifyTar(tarOf(files)))).toBe("intact");
    expect(answerOf(await verifyTar(tarOf(files), bundle.digest))).toMatch(
      /^digest_unexpected at /,
    );
  });

  const texts: readonly [string, (json: string) => string][] = [
    ["a key twice", (json) => json.replace('"_type"', '"predicateType":"x","_type"')],
    [
      "20,000 levels",
      (json) =>
        json.replace('"scope":{', `"scope":{"x":${"[".repeat(20_000)}${"]".repeat(20_000)},`),
    ],
    ["a number that overflows", (json) => json.replace('"limits":{', '"limits":{"x":1e400,')],
    ["half an emoji", (json) => json.replace('"scope":{', String.raw`"scope":{"x":"\ud83d",`)],
    ["an array", () => "[]"],
    ["nothing", () => ""],
  ];

  test.each(texts)("a statement whose text is bent: %s", async (_name, change) => {
    const files = await forged(bundle, () => undefined, change);
    const answer = await verifyTar(tarOf(files));
    expect(answer).toMatchObject({ ok: false, reason: "statement_invalid" });
  });
});

describe("hostile containers", () => {
  const header = (name: string, type: number): Uint8Array => {
    const bytes = tarHeader(name, 0);
    bytes[156] = type;
    bytes.set(text("        "), 148);
    const sum = bytes.reduce((total, byte) => total + byte, 0);
    bytes.set(text(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
    return bytes;
  };
  const blob = `blobs/sha256/${"0".repeat(64)}`;
  const file = 0x30;
  const cases: readonly [string, Uint8Array, string][] = [
    ["a symbolic link", tarWith(header(blob, 0x32)), `entry_refused at ${blob}`],
    ["a hard link", tarWith(header(blob, 0x31)), `entry_refused at ${blob}`],
    ["a character device", tarWith(header(blob, 0x33)), `entry_refused at ${blob}`],
    ["a pipe", tarWith(header(blob, 0x36)), `entry_refused at ${blob}`],
    ["a folder", tarWith(header("blobs/", 0x35)), "entry_refused at blobs/"],
    ["a name with ..", tarWith(header("../index.json", file)), "entry_refused at ../index.json"],
    ["an absolute name", tarWith(header("/index.json", file)), "entry_refused at /index.json"],
    ["a name with ./", tarWith(header("./index.json", file)), "entry_refused at ./index.json"],
    [
      "a name in upper case",
      tarWith(header(`blobs/sha256/${"A".repeat(64)}`, file)),
      `entry_refused at blobs/sha256/${"A".repeat(64)}`,
    ],
    [
      "a name that is an escape sequence",
      tarWith(header("\u001b[2J", file)),
      "entry_refused at ?[2J",
    ],
    [
      "a long-name extension",
      tarWith(header("index.json", 0x4c)),
      "container_invalid at the header of index.json",
    ],
    [
      "a size that is not there",
      tarWith(tarHeader("index.json", 8 * 1024 ** 3 - 1)),
      "container_invalid at the padding behind index.json",
    ],
    ["no file at all", tarWith(), "file_missing at index.json"],
    ["no byte at all", new Uint8Array(), "container_invalid at byte 0"],
    ["noise", text("not a tar file".repeat(100)), "entry_refused at not a tar filenot"],
  ];

  test.each(cases)("%s", async (_name, tar, want) => {
    const is = answerOf(await verifyTar(tar));
    expect(is.slice(0, want.length)).toBe(want);
  });

  test("more files, parts or bytes than may be read", async () => {
    const tar = tarOf(bundle.files);
    const within = (limits: Partial<typeof BUNDLE_LIMITS>): Promise<string> => {
      const all = { ...BUNDLE_LIMITS, ...limits };
      return verifyBundle(tarReader(byteSource(tar), all), { hasher, limits: all }).then(answerOf);
    };
    expect(await within({})).toBe("intact");
    expect(await within({ maxFiles: 3 })).toMatch(/^limit_exceeded at blobs/);
    expect(await within({ maxParts: 4 })).toBe(`limit_exceeded at ${statementName}`);
    expect(await within({ maxStatementBytes: 1000 })).toBe(`limit_exceeded at ${statementName}`);
    expect(await within({ maxBlobBytes: 10 })).toBe("limit_exceeded at transcript.jsonl");
    expect(bytesOf(transcript).length).toBeGreaterThan(10);
  });

  test("a hundred thousand subjects are refused in bounded time", { timeout: 10_000 }, async () => {
    const subject = { name: "x", digest: { sha256: "0".repeat(64) } };
    const files = await forged(bundle, (statement) => {
      statement.subject = Array.from({ length: 100_000 }, () => subject);
    });
    expect(answerOf(await verifyTar(tarOf(files)))).toBe("subjects_wrong at /subject/0");
  });
});

describe("abort", () => {
  test("rejects with the signal's reason", async () => {
    const reason = new Error("enough");
    const reader = tarReader(byteSource(tarOf(bundle.files)));
    const signal = AbortSignal.abort(reason);
    await expect(verifyBundle(reader, { hasher, signal })).rejects.toBe(reason);
  });

  test("stops before the next blob", async () => {
    const controller = new AbortController();
    const counted = { blobs: 0 };
    const slow = {
      sha256: (bytes: Uint8Array): Digest => {
        counted.blobs += 1;
        if (counted.blobs === 3) controller.abort();
        return digestOf(bytes);
      },
    };
    const reader = tarReader(byteSource(tarOf(bundle.files)));
    const verifying = verifyBundle(reader, { hasher: slow, signal: controller.signal });
    await expect(verifying).rejects.toThrow(/abort/i);
    expect(counted.blobs).toBe(3);
  });
});
