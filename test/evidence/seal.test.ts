import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/core/canonical-json.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { Digest } from "../../src/core/ids.ts";
import { plainHasher as hasher, type Hasher } from "../../src/evidence/hasher.ts";
import { BUNDLE_LIMITS } from "../../src/evidence/limits.ts";
import { type PartInput, sealBundle, type SealInput } from "../../src/evidence/seal.ts";
import { fullInput, type Json, seal, smallInput, tarOf } from "../support/sample-bundle.ts";

const bundle = await seal(fullInput);

/** The JSON of the file whose name starts so. */
function jsonOf(name: string): Json {
  const file = bundle.files.find((candidate) => candidate.name === name);
  return JSON.parse(new TextDecoder().decode(file?.bytes));
}

function partNamed(title: string, more: Partial<PartInput> = {}): PartInput {
  const content = { json: { title } };
  const part = { state: "present", title, mediaType: "application/json", content, ...more };
  return part as PartInput; // a test may name what the type forbids
}

describe("a sealed bundle", () => {
  test("equal input gives equal bytes, also with keys in another order", async () => {
    const again = await seal(structuredClone(fullInput));
    const reversed = Object.fromEntries(Object.entries(fullInput).toReversed());
    const turned = await seal(reversed as unknown as SealInput); // the same keys
    expect(tarOf(again.files)).toEqual(tarOf(bundle.files));
    expect(tarOf(turned.files)).toEqual(tarOf(bundle.files));
  });

  test("the digest is that of the statement's bytes, which are canonical JSON", () => {
    const statement = canonicalJson(bundle.statement);
    expect(bundle.digest).toBe(digestOf(new TextEncoder().encode(statement)));
    expect(jsonOf(`blobs/sha256/${bundle.digest.slice(7)}`)).toEqual(JSON.parse(statement));
  });

  test("equal parts are one blob under two titles", () => {
    const [transcript, , , , copy] = bundle.statement.predicate.parts;
    expect(transcript).toMatchObject({ title: "transcript.jsonl", state: "present" });
    expect(copy).toMatchObject({
      title: "copy-of-transcript.jsonl",
      digest: (transcript as Json).digest,
    });
    // Layout marker, config, manifest, statement, two blobs, checksums, index.
    expect(bundle.files).toHaveLength(8);
  });

  test("the statement is in-toto's, and names the manifest and every part with bytes", () => {
    const manifest = bundle.statement.subject[0]?.digest.sha256;
    expect(bundle.statement._type).toBe("https://in-toto.io/Statement/v1");
    expect(bundle.statement.predicateType).toBe("https://upheld.dev/evidence/v1");
    expect(bundle.statement.subject.map(({ name }) => name)).toEqual([
      "oci:manifest",
      "transcript.jsonl",
      "observations/workspace.json",
      "content/a.txt",
      "copy-of-transcript.jsonl",
    ]);
    expect(jsonOf(`blobs/sha256/${manifest}`)).toMatchObject({
      artifactType: "application/vnd.upheld.evidence.v1+json",
      config: { mediaType: "application/vnd.oci.empty.v1+json", size: 2 },
      layers: [
        { annotations: { "org.opencontainers.image.title": "transcript.jsonl" } },
        { annotations: { "org.opencontainers.image.title": "observations/workspace.json" } },
        { annotations: { "org.opencontainers.image.title": "content/a.txt" } },
        { annotations: { "org.opencontainers.image.title": "copy-of-transcript.jsonl" } },
      ],
    });
  });

  test("is frozen, and later changes to the given bytes do not reach it", async () => {
    const bytes = new TextEncoder().encode("before");
    const part = partNamed("a.txt", { content: { bytes } });
    const sealed = await seal({ ...smallInput, parts: [part] });
    bytes.fill(0);
    const blob = sealed.files.find(({ name }) =>
      name.endsWith(digestOf(new TextEncoder().encode("before")).slice(7)),
    );
    expect(new TextDecoder().decode(blob?.bytes)).toBe("before");
    expect(Object.isFrozen(sealed)).toBe(true);
    expect(Object.isFrozen(sealed.files)).toBe(true);
    expect(Object.isFrozen(sealed.statement.predicate.parts[0])).toBe(true);
  });

  test("a bundle without parts can be sealed: nothing was captured, and that is stated", async () => {
    const empty = await seal({ ...smallInput, parts: [] });
    expect(empty.statement.subject).toHaveLength(1);
  });

  test("Web Crypto fits as a hasher and gives the same bytes", async () => {
    const web: Hasher = {
      async sha256(bytes) {
        const sum = await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes));
        return Digest.parse(`sha256:${Buffer.from(sum).toString("hex")}`);
      },
    };
    const sealed = await sealBundle(fullInput, { hasher: web });
    expect(sealed.digest).toBe(bundle.digest);
  });
});

describe("refuses", () => {
  const present = bundle.statement.predicate.parts[0];
  const digest = present !== undefined && "digest" in present ? present.digest : undefined;
  const table: readonly [string, readonly PartInput[], string][] = [
    [
      "a title twice",
      [partNamed("a"), partNamed("a")],
      "argument_invalid: cannot seal: /parts/1/title",
    ],
    ["a title with ..", [partNamed("../a")], "argument_invalid: cannot seal: /parts/0/title"],
    [
      "a hidden .. between names",
      [partNamed("a/../b")],
      "argument_invalid: cannot seal: /parts/0/title",
    ],
    [
      "a title with a backslash",
      [partNamed("a\\b")],
      "argument_invalid: cannot seal: /parts/0/title",
    ],
    ["an empty title", [partNamed("")], "argument_invalid: cannot seal: /parts/0/title"],
    [
      "no media type",
      [partNamed("a", { mediaType: "json" })],
      "argument_invalid: cannot seal: /parts/0/mediaType",
    ],
    [
      "more shown than there are",
      [partNamed("a", { counts: { shown: 2, total: 1 } })],
      "argument_invalid: cannot seal: /parts/0/counts",
    ],
    [
      "JSON that has no form",
      [partNamed("a", { content: { json: { at: new Date(0) } } })],
      "json_invalid: /at",
    ],
    [
      "a line that has no form",
      [partNamed("a", { content: { lines: [1, undefined] } })],
      "json_invalid: the value",
    ],
    [
      "bytes both kept and withheld",
      [
        ...fullInput.parts.slice(0, 1),
        {
          state: "withheld",
          title: "a",
          mediaType: "a/b",
          digest: digest ?? ("" as Digest),
          sizeBytes: 1,
        },
      ],
      "argument_invalid: cannot seal: /parts/0/digest",
    ],
  ];

  test.each(table)("%s", async (_name, parts, want) => {
    const refusal = await seal({ ...smallInput, parts }).catch((error: unknown) => error as Json);
    expect(`${refusal.code}: ${refusal.message}`.slice(0, want.length)).toBe(want);
  });

  test.each([
    ["parts", { maxParts: 1 }, "the bundle has 5 parts, at most 1 can be sealed"],
    [
      "bytes of a part",
      { maxBlobBytes: 9 },
      "transcript.jsonl has 76 bytes, at most 9 can be sealed",
    ],
    [
      "bytes of the statement",
      { maxStatementBytes: 99 },
      /^the statement has \d+ bytes, at most 99 can be sealed$/,
    ],
  ])("more %s than a reader takes", async (_name, limits, message) => {
    const sealing = sealBundle(fullInput, { hasher, limits: { ...BUNDLE_LIMITS, ...limits } });
    await expect(sealing).rejects.toThrow(message);
  });
});
