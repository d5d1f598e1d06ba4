import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf } from "../../src/core/fingerprint.ts";
import type { BlobStore } from "../../src/store/blob-store.ts";
import { openFolderBlobs } from "../../src/store/folder-blobs.ts";
import { openS3Blobs, s3PlaceOf } from "../../src/store/s3-blobs.ts";
import { startS3, type S3Server } from "../worlds/s3-server.ts";

const TIMEOUT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), "upheld-blobs-"));
let server: S3Server;
beforeAll(async () => {
  server = await startS3();
}, TIMEOUT_MS);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const STORES: readonly (readonly [name: string, open: () => Promise<BlobStore>])[] = [
  ["a folder", () => openFolderBlobs(folder)],
  ["an S3 bucket", () => openS3Blobs(s3PlaceOf(server.address))],
];

async function textOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> {
  if (content === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size)
    yield await Promise.resolve(bytes.subarray(from, from + size));
}

async function* brokenOff(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes.subarray(0, 100_000));
  throw new Error("it broke off");
}

describe.each(STORES)("blobs in %s", (_, open) => {
  test.each([
    ["nothing", 0],
    ["one byte", 1],
    ["3 MB", 3_000_000],
  ])(
    "%s comes back as it was put, also when put twice",
    async (_name, size) => {
      const store = await open();
      const bytes = randomBytes(size);
      const blob = { digest: digestOf(bytes), sizeBytes: size };
      expect(await store.put(blob, () => inPieces(bytes, 70_000))).toBe("kept");
      expect(await store.put(blob, () => [bytes])).toBe("kept");
      expect(
        Buffer.compare((await textOf(await store.read(blob.digest))) ?? Buffer.from("?"), bytes),
      ).toBe(0);
      await store.remove(blob.digest);
      await store.remove(blob.digest);
      expect(await store.read(blob.digest)).toBeUndefined();
    },
    TIMEOUT_MS,
  );

  test.each([
    ["another byte", (bytes: Buffer) => Buffer.from(bytes).fill(1, 100, 101), "digest_mismatch"],
    ["a byte less", (bytes: Buffer) => bytes.subarray(1), "size_mismatch"],
    [
      "a byte more",
      (bytes: Buffer) => Buffer.concat([bytes, bytes.subarray(0, 1)]),
      "size_mismatch",
    ],
  ])(
    "%s than announced is not kept",
    async (_name, changed, outcome) => {
      const store = await open();
      const bytes = Buffer.alloc(200_000, 7);
      const blob = { digest: digestOf(bytes), sizeBytes: bytes.length };
      expect(await store.put(blob, () => inPieces(changed(bytes), 60_000))).toBe(outcome);
      expect(await store.read(blob.digest)).toBeUndefined();
    },
    TIMEOUT_MS,
  );

  test(
    "a sender that breaks off leaves nothing",
    async () => {
      const store = await open();
      const bytes = randomBytes(200_000);
      const blob = { digest: digestOf(bytes), sizeBytes: bytes.length };
      await expect(store.put(blob, () => brokenOff(bytes))).rejects.toThrow("it broke off");
      expect(await store.read(blob.digest)).toBeUndefined();
    },
    TIMEOUT_MS,
  );
});

test("a folder holds nothing half written", () => {
  expect(readdirSync(join(folder, "partial"))).toEqual([]);
});

describe("the address of a bucket", () => {
  test.each([
    ["s3://blobs", { bucket: "blobs", prefix: "", endpoint: undefined, region: "us-east-1" }],
    [
      "s3://blobs/a/b/?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=eu",
      { bucket: "blobs", prefix: "a/b/", endpoint: "http://127.0.0.1:9000", region: "eu" },
    ],
  ])("%s is read", (address, place) => {
    expect(s3PlaceOf(address)).toEqual(place);
  });

  test.each([
    "blobs",
    "http://blobs",
    "s3://key:secret@blobs",
    "s3://blobs?bucket=x",
    "s3://blobs?endpoint=ftp://x",
    "s3://blobs?endpoint=http://user:secret@x",
  ])("%s is refused, and no secret is told", (address) => {
    expect(() => s3PlaceOf(address)).toThrow(/^(?!.*secret).*the storage of blobs/s);
  });

  test("a bucket that is not there is an outage", async () => {
    const place = { ...s3PlaceOf(server.address), bucket: "nothing-here" };
    await expect(openS3Blobs(place)).rejects.toMatchObject({ code: "storage_unavailable" });
  });
});
