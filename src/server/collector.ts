import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_ARTIFACT_POLICY, type ArtifactPolicy } from "../evidence/artifact-kinds.ts";
import { openS3Blobs, s3PlaceOf } from "../store/s3-blobs.ts";
import { openFolderBlobs } from "../store/folder-blobs.ts";
import type { Database } from "../store/database.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { migrate } from "../store/migrations.ts";
import { openPgliteDatabase } from "../store/pglite-database.ts";
import { openPostgresDatabase } from "../store/postgres-database.ts";
import { collectorApp } from "./app.ts";
import { LOCAL_PROJECT, addProject, hasTokens } from "./auth.ts";
import { listen, type Listening } from "./listen.ts";
import { collectorMetrics } from "./metrics.ts";
import { rateLimit } from "./rate-limit.ts";
import type { Route } from "./route.ts";
import { deliveryRoutes } from "./routes/delivery.ts";
import { healthRoutes } from "./routes/health.ts";
import { judgmentRoutes } from "./routes/judgments.ts";
import { runRoutes } from "./routes/runs.ts";
import { tokenRoutes } from "./routes/tokens.ts";

/** Where a collector keeps what it takes in. */
export interface CollectorPlace {
  /** The folder of the embedded database and of the blobs. */
  readonly folder: string;
  /** A Postgres server in place of the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** A bucket in place of the folder of blobs: s3://BUCKET/PREFIX?endpoint=URL. */
  readonly blobsUrl?: string | undefined;
}

export interface CollectorOptions {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  /** Requests a second that a project may send to this process. Default 500. */
  readonly requestsPerSecond?: number | undefined;
  /** What a job may deliver, where it differs from the default. */
  readonly policy?: Partial<ArtifactPolicy> | undefined;
  readonly onFailure: (error: unknown) => void;
}

/** Everything that a collector keeps, open and of the newest schema. */
export interface CollectorStore extends AsyncDisposable {
  readonly database: Database;
  readonly blobs: BlobStore;
  /** A folder for large bodies on their way in. */
  readonly incoming: string;
}

/** Opens the storage and brings its schema up to date. */
export async function openCollectorStore(place: CollectorPlace): Promise<CollectorStore> {
  const database =
    place.databaseUrl === undefined
      ? await openPgliteDatabase(join(place.folder, "database"))
      : await openPostgresDatabase(place.databaseUrl);
  try {
    await migrate(database);
    const blobs = await openBlobs(place);
    const incoming = await mkdtemp(join(tmpdir(), "upheld-incoming-"));
    return {
      database,
      blobs,
      incoming,
      async [Symbol.asyncDispose]() {
        await rm(incoming, { recursive: true, force: true });
        await database[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

function openBlobs({ folder, blobsUrl }: CollectorPlace): Promise<BlobStore> {
  return blobsUrl === undefined
    ? openFolderBlobs(join(folder, "blobs"))
    : openS3Blobs(s3PlaceOf(blobsUrl));
}

const REQUESTS_PER_SECOND = 500;

/** Starts to answer. Without tokens it answers this machine alone, and nothing else may reach it. */
export async function startCollector(
  { database, blobs, incoming }: CollectorStore,
  options: CollectorOptions,
): Promise<Listening & { readonly isOpen: boolean }> {
  const isOpen = !(await hasTokens(database));
  if (isOpen) await addProject(database, LOCAL_PROJECT);
  const metrics = collectorMetrics();
  const perSecond = options.requestsPerSecond ?? REQUESTS_PER_SECOND;
  const policy = { ...DEFAULT_ARTIFACT_POLICY, ...options.policy };
  const routes: readonly Route[] = [
    ...healthRoutes(database, metrics),
    ...tokenRoutes(database),
    ...runRoutes(database, blobs),
    ...judgmentRoutes(database, metrics),
    ...deliveryRoutes({ statements: database, blobs, policy, incoming }, metrics),
  ];
  const app = collectorApp({
    statements: database,
    routes,
    metrics,
    rateLimit: rateLimit({ perSecond, burst: perSecond * 2 }, () => performance.now()),
    version: options.version,
    isOpen: () => isOpen,
    onFailure: options.onFailure,
  });
  const listening = await listen(app, options);
  return { ...listening, isOpen };
}
