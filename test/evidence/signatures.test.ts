import { sign, generateKeyPairSync } from "node:crypto";
import { assert, asyncProperty, uint8Array } from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJsonBytes } from "../../src/core/canonical-json.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { countersign, withholdParts } from "../../src/evidence/amend.ts";
import type { Bundle, BundleFile } from "../../src/evidence/bundle.ts";
import { envelopeMessage, sigstoreBytes, type Signature } from "../../src/evidence/dsse.ts";
import { derOfSignature, rawOfSignature } from "../../src/evidence/ecdsa.ts";
import { plainHasher as hasher } from "../../src/evidence/hasher.ts";
import { blobName, layoutOf } from "../../src/evidence/layout.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { RUN_REFERENCE } from "../../src/evidence/reference.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import type { Signer, VerifyingKey } from "../../src/evidence/signer.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle, type Verification } from "../../src/evidence/verify.ts";
import { newKeys } from "../support/keys.ts";
import {
  answerOf,
  fullInput,
  inOrder,
  type Json,
  seal,
  smallInput,
  tarOf,
} from "../support/sample-bundle.ts";

const guest = newKeys();
const host = newKeys();
const stranger = newKeys();

const signed = await sealBundle(
  { ...fullInput, sealer: "guest" },
  { hasher, signer: guest.signer },
);
const unsigned = await seal(fullInput);

const readerOf = (files: readonly BundleFile[]) => tarReader(byteSource(tarOf(files)));

function verify(files: readonly BundleFile[], ...keys: VerifyingKey[]): Promise<Verification> {
  return verifyBundle(readerOf(files), { hasher, keys });
}

/** The files of an amended bundle, read whole. */
async function wholeFiles(amended: Awaited<ReturnType<typeof countersign>>) {
  const files: BundleFile[] = [];
  for (const file of amended.files) {
    if ("bytes" in file) files.push(file);
    else {
      const pieces: Uint8Array[] = [];
      for await (const piece of file.pieces()) pieces.push(piece);
      files.push({ name: file.name, bytes: Uint8Array.from(Buffer.concat(pieces)) });
    }
  }
  return files;
}

const statementOf = (bundle: Bundle): Uint8Array =>
  bundle.files.find(({ name }) => name === blobName(bundle.digest))?.bytes ?? new Uint8Array();

/** The bundle with these signatures, everything else made to fit. */
async function withSignatures(
  bundle: Bundle,
  signatures: readonly Signature[],
): Promise<readonly BundleFile[]> {
  const statement = { digest: bundle.digest, bytes: statementOf(bundle) };
  const { parts } = bundle.statement.predicate;
  const own = { reference: RUN_REFERENCE, statement, parts, signatures };
  const { derived, names } = await layoutOf([own], new Set(), hasher);
  const files = new Map([...bundle.files, ...derived].map((file) => [file.name, file]));
  return names.flatMap((name) => files.get(name) ?? []);
}

const [first] = signed.signatures;
if (first === undefined) throw new Error("it was signed");

describe("a signed bundle", () => {
  test("is intact and verified by the key of its sealer, whose side is in the signed bytes", async () => {
    expect(await verify(signed.files, guest.key)).toMatchObject({
      ok: true,
      digest: signed.digest,
      signature: "verified",
      signatures: [{ keyId: guest.key.keyId, by: "guest", isVerified: true }],
    });
    expect(signed.statement.predicate.sealer).toEqual({ by: "guest", keyId: guest.key.keyId });
  });

  test("is intact without a key, and vouched for by nobody", async () => {
    expect(await verify(signed.files)).toMatchObject({
      signature: "unchecked",
      signatures: [{ isVerified: false }],
    });
  });

  test("has a statement that does not depend on what the signature came out as", async () => {
    const again = await sealBundle(
      { ...fullInput, sealer: "guest" },
      { hasher, signer: guest.signer },
    );
    expect(again.digest).toBe(signed.digest);
    expect(statementOf(again)).toEqual(statementOf(signed));
  });

  test("is countersigned by the host: two signers, each by name, one digest", async () => {
    const amended = await countersign(readerOf(signed.files), host.signer, { hasher });
    const both = await wholeFiles(amended);
    expect(amended.digest).toBe(signed.digest);
    const answer = await verify(both, guest.key, host.key);
    expect(answer).toMatchObject({ ok: true, digest: signed.digest, signature: "verified" });
    expect(
      answer.ok && Object.fromEntries(answer.signatures.map((each) => [each.keyId, each.by])),
    ).toEqual({
      [guest.key.keyId]: "guest",
      [host.key.keyId]: "countersigner",
    });
    expect(answerOf(await verify(both, stranger.key))).toBe(
      `signer_unexpected at ${stranger.key.keyId}`,
    );
    // Signing again replaces.
    const again = await wholeFiles(await countersign(readerOf(both), host.signer, { hasher }));
    expect(await verify(again, host.key)).toMatchObject({ ok: true });
    expect(again).toHaveLength(both.length);
  });

  test("is not signed where another was verified", async () => {
    const made: Uint8Array[] = [];
    const watched: Signer = {
      keyId: host.key.keyId,
      sign: (message) => {
        made.push(message);
        return host.signer.sign(message);
      },
    };
    const reader = readerOf(signed.files);
    await expect(
      countersign(reader, watched, { hasher, expectedDigest: unsigned.digest }),
    ).rejects.toMatchObject({
      code: "bundle_invalid",
      message: expect.stringContaining("digest_unexpected"),
    });
    expect(made).toEqual([]);
    const { digest } = await countersign(reader, watched, {
      hasher,
      expectedDigest: signed.digest,
    });
    expect([digest, made.length]).toEqual([signed.digest, 1]);
  });

  test("lacks a part and says so, under the same signature", async () => {
    const copy = await wholeFiles(
      await withholdParts(readerOf(signed.files), ["observations/workspace.json"], { hasher }),
    );
    expect(await verify(copy, guest.key)).toMatchObject({
      ok: true,
      digest: signed.digest,
      signature: "verified",
      withheld: ["observations/workspace.json"],
    });
    // A part that is lost without a word is something else.
    const index = signed.files.find(({ name }) => name === "index.json");
    if (index === undefined) throw new Error("no index");
    const silent = copy.map((file) => (file.name === "index.json" ? index : file));
    expect(answerOf(await verify(silent, guest.key))).toMatch(/^file_missing at blobs/);
  });

  test("equal parts are withheld together, and unknown or missing ones are refused", async () => {
    const copy = await wholeFiles(
      await withholdParts(readerOf(signed.files), ["transcript.jsonl"], { hasher }),
    );
    expect(await verify(copy)).toMatchObject({
      withheld: ["transcript.jsonl", "copy-of-transcript.jsonl"],
    });
    for (const title of ["nothing", "rows/events.jsonl", "content/a.txt"])
      await expect(
        withholdParts(readerOf(signed.files), [title], { hasher }),
      ).rejects.toMatchObject({
        code: "argument_invalid",
      });
  });
});

describe("with a key, it is refused", () => {
  const cases: readonly [string, () => Promise<readonly BundleFile[]>, RegExp][] = [
    ["unsigned", async () => unsigned.files, /^signature_missing/],
    ["stripped", () => withSignatures(signed, []), /^signature_missing/],
    [
      "signed by another key",
      () => withSignatures(signed, [{ ...first, keyId: stranger.key.keyId }]),
      /^signer_unexpected/,
    ],
    [
      "signed by another key under this key's name",
      async () => {
        const raw = await stranger.signer.sign(envelopeMessage(statementOf(signed)));
        return withSignatures(signed, [
          { keyId: guest.key.keyId, der: derOfSignature(raw) ?? new Uint8Array() },
        ]);
      },
      /^signature_wrong/,
    ],
    [
      "a signature over another statement",
      async () => {
        const other = await sealBundle(smallInput, { hasher, signer: guest.signer });
        return withSignatures(signed, other.signatures);
      },
      /^signature_wrong/,
    ],
    [
      "a signature over the statement without its type",
      async () => {
        const raw = await guest.signer.sign(statementOf(signed));
        return withSignatures(signed, [
          { keyId: guest.key.keyId, der: derOfSignature(raw) ?? new Uint8Array() },
        ]);
      },
      /^signature_wrong/,
    ],
    [
      "two signatures, one bad",
      async () => {
        const raw = await stranger.signer.sign(envelopeMessage(statementOf(signed)));
        const bad = { keyId: host.key.keyId, der: derOfSignature(raw) ?? new Uint8Array() };
        const both = [first, bad].toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
        return withSignatures(signed, both);
      },
      /^signature_wrong/,
    ],
  ];

  test.each(cases)("%s", async (_name, files, want) => {
    const keys = _name.startsWith("two") ? [guest.key, host.key] : [guest.key];
    expect(answerOf(await verify(await files(), ...keys))).toMatch(want);
  });
});

const signature = (sigstore: Json): Json => sigstore.dsseEnvelope.signatures[0];

describe("files of signatures that are not as we write them", () => {
  /** The bundle with its signature's file bent, and everything besides made to fit. */
  async function bent(change: (sigstore: Json) => void): Promise<readonly BundleFile[]> {
    const bytes = sigstoreBytes(
      statementOf(signed),
      first ?? { keyId: guest.key.keyId, der: new Uint8Array() },
    );
    const old = blobName(digestOf(bytes));
    const sigstore = JSON.parse(new TextDecoder().decode(bytes));
    change(sigstore);
    const changed = canonicalJsonBytes(sigstore);
    const name = blobName(digestOf(changed));
    const files = signed.files.map((file) => {
      if (file.name === old) return { name, bytes: changed };
      if (file.name !== "index.json" && file.name !== "manifest-sha256.txt") return file;
      const fitted = new TextDecoder()
        .decode(file.bytes)
        .replaceAll(old.slice(-64), name.slice(-64))
        .replace(`"size":${bytes.length}`, `"size":${changed.length}`);
      return { name: file.name, bytes: new TextEncoder().encode(fitted) };
    });
    return inOrder(files);
  }

  const der = Buffer.from(first.der);
  const cases: readonly [string, (sigstore: Json) => void][] = [
    [
      "another type of bundle",
      (file) => (file.mediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"),
    ],
    ["another type of payload", (file) => (file.dsseEnvelope.payloadType = "text/plain")],
    ["another payload", (file) => (file.dsseEnvelope.payload = btoa("{}"))],
    ["a payload in another base64", (file) => (file.dsseEnvelope.payload += "=")],
    [
      "a bare key",
      (file) => (file.verificationMaterial.publicKey.rawBytes = btoa(guest.publicPem)),
    ],
    ["a certificate", (file) => (file.verificationMaterial.certificate = { rawBytes: "AA==" })],
    [
      "a hint at another key",
      (file) => (file.verificationMaterial.publicKey.hint = host.key.keyId),
    ],
    [
      "a signature over a digest",
      (file) => (file.messageSignature = { messageDigest: { algorithm: "SHA1" } }),
    ],
    ["no signature", (file) => (file.dsseEnvelope.signatures = [])],
    ["the signature twice", (file) => file.dsseEnvelope.signatures.push(signature(file))],
    ["a signature that is empty", (file) => (signature(file).sig = "")],
    ["a signature in base64url", (file) => (signature(file).sig = der.toString("base64url"))],
    [
      "bytes behind a signature",
      (file) => (signature(file).sig = Buffer.concat([der, Buffer.of(0)]).toString("base64")),
    ],
    [
      "a signature of Ed25519",
      (file) => {
        const { privateKey } = generateKeyPairSync("ed25519");
        signature(file).sig = sign(null, statementOf(signed), privateKey).toString("base64");
      },
    ],
    [
      "the mirror of a signature (r, n - s)",
      (file) => (signature(file).sig = Buffer.from(mirrored(first.der)).toString("base64")),
    ],
  ];

  test("the control: nothing bent", async () => {
    expect(answerOf(await verify(await bent(() => undefined), guest.key))).toBe("intact");
  });

  test.each(cases)("%s", async (_name, change) => {
    const files = await bent(change);
    // Also where no key is given: what cannot be a signature is not carried along.
    for (const keys of [[], [guest.key]])
      expect(answerOf(await verify(files, ...keys))).toMatch(/^signature_invalid at blobs/);
  });

  test("two signatures in another order", async () => {
    const both = await wholeFiles(
      await countersign(readerOf(signed.files), host.signer, { hasher }),
    );
    expect(answerOf(await verify(both))).toBe("intact");
    const second = { ...first, keyId: host.key.keyId };
    const wrong = [first, second].toSorted((a, b) => (a.keyId < b.keyId ? 1 : -1));
    expect(answerOf(await verify(await withSignatures(signed, wrong)))).toMatch(
      /^signature_invalid/,
    );
    expect(answerOf(await verify(await withSignatures(signed, [first, first])))).toMatch(
      /^(signature_invalid|index_invalid)/,
    );
  });
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The other signature that verifies, in DER as OpenSSL would write it. */
function mirrored(der: Uint8Array): Uint8Array {
  const raw = Buffer.from(rawOfSignature(der) ?? []);
  const s = ORDER - BigInt(`0x${raw.subarray(32).toString("hex")}`);
  const numbers = [
    raw.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, "0"), "hex"),
  ].flatMap((bytes) => {
    const digits = [...bytes.subarray(bytes.findIndex((byte) => byte !== 0))];
    if ((digits[0] ?? 0) >= 0x80) digits.unshift(0);
    return [0x02, digits.length, ...digits];
  });
  return Uint8Array.of(0x30, numbers.length, ...numbers);
}

describe("the one form of a signature", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

  test("what OpenSSL signs becomes it, verifies, and comes back", async () => {
    const { verify: opensslVerify } = await import("node:crypto");
    await assert(
      asyncProperty(uint8Array(), async (message) => {
        const raw = sign("sha256", message, { key: privateKey, dsaEncoding: "ieee-p1363" });
        const der = derOfSignature(raw) ?? new Uint8Array();
        expect(opensslVerify("sha256", message, publicKey, der)).toBe(true);
        const back = rawOfSignature(der) ?? new Uint8Array();
        expect(back.subarray(0, 32)).toEqual(new Uint8Array(raw.subarray(0, 32)));
        // Its mirror verifies for OpenSSL, and is none for us.
        expect(opensslVerify("sha256", message, publicKey, mirrored(der))).toBe(true);
        expect(rawOfSignature(mirrored(der))).toBeNull();
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["no bytes", []],
    ["zero", [0x30, 6, 2, 1, 0, 2, 1, 1]],
    ["a negative number", [0x30, 6, 2, 1, 0x80, 2, 1, 1]],
    ["a leading zero too many", [0x30, 7, 2, 2, 0, 1, 2, 1, 1]],
    ["a long length", [0x30, 0x81, 6, 2, 1, 1, 2, 1, 1]],
    ["another tag", [0x31, 6, 2, 1, 1, 2, 1, 1]],
    ["a length beyond the end", [0x30, 6, 2, 1, 1, 2, 9, 1]],
    ["one number", [0x30, 3, 2, 1, 1]],
  ])("refused: %s", (_name, bytes) => {
    expect(rawOfSignature(Uint8Array.from(bytes))).toBeNull();
  });

  test("the control: small numbers pass", () => {
    expect(rawOfSignature(Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1))).not.toBeNull();
  });

  test("a signer that returns something else is an error", async () => {
    const broken: Signer = { keyId: guest.key.keyId, sign: () => new Uint8Array(64) };
    await expect(sealBundle(smallInput, { hasher, signer: broken })).rejects.toMatchObject({
      code: "key_invalid",
    });
  });
});
