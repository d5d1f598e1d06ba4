import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type * as S3 from "@aws-sdk/client-s3";
import { UpheldError } from "../core/errors.ts";
import type { Digest } from "../core/ids.ts";
import type { BlobContent, BlobName, BlobStore, PutOutcome } from "./blob-store.ts";

/** What is used of `@aws-sdk/client-s3`, which is installed by those who keep their blobs there. */
type S3Package = typeof S3;

/** A bucket, the prefix of its keys, and where it is when it is not at Amazon. */
export interface S3Place {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** Reads s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME]. Throws "argument_invalid" where it is of another form. */
export function s3PlaceOf(address: string): S3Place {
  const { hostname, pathname, searchParams } = bucketUrl(address);
  const unknown = [...searchParams.keys()].find((key) => key !== "endpoint" && key !== "region");
  if (unknown !== undefined) throw misaddressed(`${unknown} is not known, endpoint and region are`);
  const endpoint = searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !/^https?:\/\/[^@/]+\/?$/.test(endpoint))
    throw misaddressed("endpoint is the address of a server, http or https");
  const path = pathname.replaceAll(/^\/+|\/+$/g, "");
  return {
    bucket: hostname,
    prefix: path === "" ? "" : `${path}/`,
    endpoint,
    region: searchParams.get("region") ?? "us-east-1",
  };
}

function bucketUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isBucket = url?.protocol === "s3:" && url.hostname !== "";
  if (isBucket && url.username === "" && url.password === "") return url;
  throw misaddressed(
    "expected s3://BUCKET/PREFIX?endpoint=URL&region=NAME, with no password in it",
  );
}

function misaddressed(what: string): UpheldError {
  return new UpheldError("argument_invalid", `the storage of blobs: ${what}`);
}

/**
 * Blobs as objects, `sha256/<hex>` under the prefix. Credentials are those of the environment, as every AWS program finds them.
 * Throws "package_missing" without the client, "storage_unavailable" where the bucket cannot be reached.
 */
export async function openS3Blobs(place: S3Place): Promise<BlobStore> {
  const s3 = await loadClient();
  const { bucket: Bucket, endpoint, region } = place;
  const client = new s3.S3Client({
    region,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
  });
  const keyOf = (digest: Digest): string =>
    `${place.prefix}sha256/${digest.slice("sha256:".length)}`;
  await storing(() => client.send(new s3.HeadBucketCommand({ Bucket })));
  return {
    put: (blob, open) => put({ s3, client, Bucket, Key: keyOf(blob.digest) }, blob, open),
    async read(digest) {
      try {
        const { Body } = await client.send(new s3.GetObjectCommand({ Bucket, Key: keyOf(digest) }));
        return Body instanceof Readable ? (Body as AsyncIterable<Uint8Array>) : undefined; // of bytes
      } catch (error) {
        if (error instanceof s3.NoSuchKey) return undefined;
        throw unavailable(error);
      }
    },
    async remove(digest) {
      await storing(() => client.send(new s3.DeleteObjectCommand({ Bucket, Key: keyOf(digest) })));
    },
  };
}

interface ObjectPlace {
  readonly s3: S3Package;
  readonly client: S3.S3Client;
  readonly Bucket: string;
  readonly Key: string;
}

/** Looks at the bytes before it sends them, and sends them with their digest signed: a server that gets others refuses them. */
async function put(
  { s3, client, Bucket, Key }: ObjectPlace,
  blob: BlobName,
  open: BlobContent,
): Promise<PutOutcome> {
  const outcome = await outcomeOf(blob, open());
  if (outcome !== "kept") return outcome;
  const Body = Readable.from(open(), { objectMode: false });
  // The client waits for ever for the rest of a body that failed.
  const stop = new AbortController();
  Body.on("error", () => stop.abort());
  const command = new s3.PutObjectCommand({ Bucket, Key, Body, ContentLength: blob.sizeBytes });
  command.middlewareStack.add(
    (next) => (step) => {
      const { headers } = step.request as { headers: Record<string, string> }; // an HTTP request, always
      headers["x-amz-content-sha256"] = blob.digest.slice("sha256:".length);
      return next(step);
    },
    { step: "build" },
  );
  await storing(() => client.send(command, { abortSignal: stop.signal }));
  return "kept";
}

async function outcomeOf(
  { digest, sizeBytes }: BlobName,
  content: ReturnType<BlobContent>,
): Promise<PutOutcome> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of content) {
    size += piece.length;
    hash.update(piece);
    if (size > sizeBytes) break;
  }
  if (size !== sizeBytes) return "size_mismatch";
  return `sha256:${hash.digest("hex")}` === digest ? "kept" : "digest_mismatch";
}

async function loadClient(): Promise<S3Package> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    throw new UpheldError(
      "package_missing",
      "blobs in S3 need a package that is not installed: npm install @aws-sdk/client-s3@3",
      { cause },
    );
  }
}

async function storing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
}

/** The name of what went wrong; a message could hold the address, or more. */
function unavailable(cause: unknown): UpheldError {
  const name = cause instanceof Error ? cause.name : "unknown";
  return new UpheldError("storage_unavailable", `the bucket cannot be used: ${name}`, { cause });
}
