import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What is used of the package, which brings no types. */
interface S3rver {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

const require = createRequire(import.meta.url);

/** A server that speaks S3 on loopback, with an empty bucket; its objects are files of a scratch folder. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string;
  /** The address of the bucket as `--blobs` takes it. */
  readonly address: string;
}

export const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };

/** Starts it, and gives this process its credentials. */
export async function startS3(): Promise<S3Server> {
  const Server = require("s3rver") as new (options: object) => S3rver; // as its manual says
  const directory = mkdtempSync(join(tmpdir(), "upheld-s3-"));
  const server = new Server({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory,
    configureBuckets: [{ name: "blobs" }],
  });
  const { port } = await server.run();
  Object.assign(process.env, S3_CREDENTIALS);
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    address: `s3://blobs/upheld?endpoint=${encodeURIComponent(endpoint)}`,
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
