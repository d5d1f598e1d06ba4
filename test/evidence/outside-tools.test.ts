import { createPublicKey } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleFromJSON } from "@sigstore/bundle";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SIGSTORE_MEDIA_TYPE } from "../../src/evidence/dsse.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import { writeBundle } from "../../src/store/bundle-file.ts";
import { nodeHasher as hasher } from "../../src/store/hasher.ts";
import { newKeys } from "../support/keys.ts";
import { fullInput, type Json } from "../support/sample-bundle.ts";

// Programs that know nothing of us, each on a good bundle and on one with a changed byte.
const keys = newKeys();
const folder = mkdtempSync(join(tmpdir(), "upheld-outside-"));
const good = join(folder, "good");
const bad = join(folder, "bad");
const blobs = join("blobs", "sha256");

const isThere = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;

// Every part is here: skopeo copies no image of which a layer is missing.
const input = { ...fullInput, parts: fullInput.parts.filter(({ state }) => state !== "withheld") };

beforeAll(async () => {
  const bundle = await sealBundle(input, { hasher, signer: keys.signer });
  await writeBundle(good, bundle, { as: "directory" });
  execFileSync("cp", ["-r", good, bad]);
  const index = indexOf(bad);
  const part = readdirSync(join(bad, blobs))
    .map((name) => join(bad, blobs, name))
    .find((path) => readFileSync(path, "utf8").includes('"text":"Write out/a.txt"'));
  if (part === undefined) throw new Error("there is a transcript");
  writeFileSync(part, readFileSync(part, "utf8").replace("Write", "Wrote"));
  const sigstore = join(bad, fileOf(index, SIGSTORE_MEDIA_TYPE));
  const text = readFileSync(sigstore, "utf8");
  const payload = JSON.parse(text).dsseEnvelope.payload;
  const changed = Buffer.from(payload, "base64")
    .toString()
    .replace('"runId":"run-1"', '"runId":"run-2"');
  writeFileSync(sigstore, text.replace(payload, Buffer.from(changed).toString("base64")));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const indexOf = (bundle: string): Json =>
  JSON.parse(readFileSync(join(bundle, "index.json"), "utf8"));

function fileOf(index: Json, mediaType: string): string {
  const entry = index.manifests.find((each: Json) => each.mediaType === mediaType);
  return join(blobs, entry.digest.slice("sha256:".length));
}

const sha256sum = (cwd: string) =>
  spawnSync("sha256sum", ["-c", "--ignore-missing", "manifest-sha256.txt"], { cwd });

const copy = (bundle: string, to: string) =>
  spawnSync("skopeo", ["--insecure-policy", "copy", `oci:${bundle}:evidence`, `dir:${to}`], {
    encoding: "utf8",
  });

const verifier = (pem: string) =>
  new Verifier(
    toTrustMaterial(
      {
        mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        tlogs: [],
        ctlogs: [],
        timestampAuthorities: [],
        certificateAuthorities: [],
      },
      () => ({ publicKey: createPublicKey(pem), validFor: () => true }),
    ),
    { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 },
  );
const entityOf = (bundle: string) => {
  const path = join(bundle, fileOf(indexOf(bundle), SIGSTORE_MEDIA_TYPE));
  return toSignedEntity(bundleFromJSON(JSON.parse(readFileSync(path, "utf8"))));
};

test("sha256sum", (context) => {
  context.skip(!isThere("sha256sum"), "sha256sum is not installed");
  expect(sha256sum(good).status).toBe(0);
  expect(sha256sum(bad).status).toBe(1);
});

test("skopeo", { timeout: 120_000 }, (context) => {
  context.skip(!isThere("skopeo"), "skopeo is not installed");
  const first = copy(good, join(folder, "copy-of-good"));
  expect(first.stderr).toBe("");
  expect(first.status).toBe(0);
  expect(copy(bad, join(folder, "copy-of-bad")).status).not.toBe(0);
});

test("openssl", (context) => {
  context.skip(spawnSync("openssl", ["version"]).error !== undefined, "openssl is not installed");
  const publicKey = join(folder, "key.pub");
  writeFileSync(publicKey, keys.publicPem);
  const check = (bundle: string) => {
    const { dsseEnvelope } = JSON.parse(
      readFileSync(join(bundle, fileOf(indexOf(bundle), SIGSTORE_MEDIA_TYPE)), "utf8"),
    );
    const payload = Buffer.from(dsseEnvelope.payload, "base64");
    const type = dsseEnvelope.payloadType;
    const signature = join(folder, "signature");
    writeFileSync(signature, Buffer.from(dsseEnvelope.signatures[0].sig, "base64"));
    const input = Buffer.concat([
      Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `),
      payload,
    ]);
    const args = ["dgst", "-sha256", "-verify", publicKey, "-signature", signature];
    return spawnSync("openssl", args, { input, encoding: "utf8" });
  };
  expect(check(good)).toMatchObject({ status: 0, stdout: "Verified OK\n" });
  expect(check(bad).status).toBe(1);
});

describe("@sigstore/verify", () => {
  test("verifies a good bundle, by the key that it is given", () => {
    expect(() => verifier(keys.publicPem).verify(entityOf(good))).not.toThrow();
    expect(() => verifier(newKeys().publicPem).verify(entityOf(good))).toThrow(/signature/i);
  });

  test("refuses a changed one", () => {
    expect(() => verifier(keys.publicPem).verify(entityOf(bad))).toThrow(/signature/i);
  });
});
