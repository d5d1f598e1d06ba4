import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainHasher as hasher } from "../../src/evidence/hasher.ts";
import { sealBundle } from "../../src/evidence/seal.ts";
import { verifyBundle, type Verification } from "../../src/evidence/verify.ts";
import { writeBundle } from "../../src/store/bundle-file.ts";
import { openBundle } from "../../src/store/open-bundle.ts";
import { newKeys } from "../support/keys.ts";
import { seal, smallInput, tarOf, verifyTar } from "../support/sample-bundle.ts";

const guest = newKeys();
const signed = await sealBundle(
  { ...smallInput, sealer: "guest" },
  { hasher, signer: guest.signer },
);
const unsigned = await seal(smallInput);

/** The bit that is changed of each byte: neighbours differ, so that each kind of field meets several. */
const bent = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = bytes.slice();
  copy[at] = (copy[at] ?? 0) ^ (1 << (at % 8));
  return copy;
};

// Some ten thousand verifications, on a machine that may be busy.
const patience = { timeout: 600_000 };

describe("a signed tar bundle, no key given", patience, () => {
  const tar = tarOf(signed.files);

  test("the control: nothing changed", async () => {
    expect(await verifyTar(tar)).toMatchObject({ ok: true, signature: "unchecked" });
  });

  test("never verifies with a bit of any byte changed", async () => {
    const unnoticed: number[] = [];
    for (let at = 0; at < tar.length; at += 1)
      if ((await verifyTar(bent(tar, at))).ok) unnoticed.push(at);
    expect(unnoticed).toEqual([]);
  });

  test("never verifies when cut at any length", async () => {
    const unnoticed: number[] = [];
    for (let length = 0; length < tar.length; length += 1)
      if ((await verifyTar(tar.subarray(0, length))).ok) unnoticed.push(length);
    expect(unnoticed).toEqual([]);
  });
});

describe.each([
  ["signed", signed],
  ["unsigned", unsigned],
] as const)("a directory bundle, %s", patience, (_, bundle) => {
  const keys = bundle === signed ? [guest.key] : [];
  let folder = "";
  let path = "";
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "upheld-tamper-")));
    path = join(folder, "bundle");
    await writeBundle(path, bundle, { as: "directory" });
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function verify(): Promise<Verification> {
    await using opened = await openBundle(path);
    return await verifyBundle(opened, { hasher, keys });
  }

  test("the control: nothing changed", async () => {
    expect(await verify()).toMatchObject({ ok: true, digest: bundle.digest });
  });

  test("never verifies with a bit of any byte of any file changed", async () => {
    const unnoticed: string[] = [];
    for (const { name, bytes } of bundle.files) {
      const file = join(path, name);
      for (let at = 0; at < bytes.length; at += 1) {
        writeFileSync(file, bent(bytes, at));
        if ((await verify()).ok) unnoticed.push(`${name} at ${at}`);
      }
      writeFileSync(file, bytes);
    }
    expect(unnoticed).toEqual([]);
  });

  test("never verifies without one of its files, with one cut, longer or added", async () => {
    const unnoticed: string[] = [];
    const look = async (what: string): Promise<void> => {
      if ((await verify()).ok) unnoticed.push(what);
    };
    for (const { name, bytes } of bundle.files) {
      const file = join(path, name);
      for (const [what, other] of [
        ["cut", bytes.subarray(0, -1)],
        ["emptied", new Uint8Array()],
        ["longer", Uint8Array.from([...bytes, 10])],
      ] as const) {
        writeFileSync(file, other);
        await look(`${name} ${what}`);
      }
      // An index that is gone makes it no bundle at all, which has its own test.
      if (name !== "index.json") {
        rmSync(file);
        await look(`${name} removed`);
      }
      writeFileSync(file, bytes);
    }
    const added = join(path, "blobs", "sha256", "0".repeat(64));
    writeFileSync(added, "x");
    await look("a blob added");
    rmSync(added);
    expect(unnoticed).toEqual([]);
    expect((await verify()).ok).toBe(true);
  });
});
