import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectorContract } from "../../src/testing/collector/contract.ts";
import { CollectorWorld } from "../worlds/collector.ts";
import { postgresMissing, startPostgres, type PostgresServer } from "../worlds/postgres-server.ts";
import { startS3, type S3Server } from "../worlds/s3-server.ts";

const TIMEOUT_MS = 300_000;

/** Runs the contract against one collector's storage; each check starts to answer anew, with the policy that it wants. */
function keepsTheContract(open: () => Promise<CollectorWorld>, missing?: string): void {
  let opened: CollectorWorld | undefined;
  const world = (): CollectorWorld => {
    if (opened === undefined) throw new Error("the world is not open");
    return opened;
  };
  beforeAll(async () => {
    if (missing !== undefined) return;
    opened = await open();
    await opened.store;
  }, TIMEOUT_MS);
  afterAll(() => opened?.[Symbol.asyncDispose](), TIMEOUT_MS);

  const checks = collectorContract({ start: (policy) => world().start({ policy }) });
  test.for(checks.map(({ name, run }) => [name, run] as const))(
    "%s",
    { timeout: TIMEOUT_MS },
    async ([, run], context) => {
      context.skip(missing !== undefined, missing);
      await run();
    },
  );

  test("nothing failed on the way", (context) => {
    context.skip(missing !== undefined, missing);
    expect(world().failures).toEqual([]);
  });
}

describe("the collector over the embedded database", () => {
  keepsTheContract(() => Promise.resolve(new CollectorWorld()));
});

describe("the collector over a Postgres server and an S3 bucket", () => {
  let server: PostgresServer | undefined;
  let s3: S3Server | undefined;
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await s3?.[Symbol.asyncDispose]();
  }, TIMEOUT_MS);
  keepsTheContract(async () => {
    server = await startPostgres();
    s3 = await startS3();
    const { url } = await server.database();
    return new CollectorWorld({ databaseUrl: url, blobsUrl: s3.address });
  }, postgresMissing);
});
