import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Digest } from "../../src/core/ids.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { openBundle } from "../../src/store/open-bundle.ts";
import { verifyTar } from "../support/sample-bundle.ts";

// Bundles that were sealed once. They are added to, never edited: each verifies for ever.
const golden = [
  {
    name: "bundle-1",
    digest: "sha256:d2e042ae022420b72e3962af89f38eed256c485ff5d18e0a1d6d95c807023ece",
  },
] as const;

const pathOf = (name: string): string =>
  fileURLToPath(new URL(`../golden/${name}`, import.meta.url));

test.each(golden)("$name.upheld, the tar file", async ({ name, digest }) => {
  const tar = new Uint8Array(readFileSync(pathOf(`${name}.upheld`)));
  expect(await verifyTar(tar, Digest.parse(digest))).toMatchObject({ ok: true, digest });
});

test.each(golden)("$name, the directory", async ({ name, digest }) => {
  await using reader = await openBundle(pathOf(name));
  const options = { hasher: nodeHasher, expectedDigest: Digest.parse(digest) };
  expect(await verifyBundle(reader, options)).toMatchObject({ ok: true, digest });
});
