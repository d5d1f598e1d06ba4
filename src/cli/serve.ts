import { resolve } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { hasTokens } from "../server/auth.ts";
import type { CollectorPlace } from "../server/collector.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { noArguments, parseOptions, usage, type Parsed } from "./options.ts";

const DEFAULT_PORT = 8_787;
const MAX_PORT = 65_535;

/** Where a collector keeps its data: for every command that opens it. */
export const COLLECTOR_OPTIONS = {
  data: {
    value: "DIR",
    help: "the folder of the embedded database and of the blobs (default .upheld)",
  },
  database: {
    value: "URL|env:VAR",
    help: "a Postgres server in place of the embedded database; env:VAR keeps its password off the command line",
  },
  blobs: {
    value: "URL",
    help: "a bucket in place of the folder of blobs: s3://BUCKET/PREFIX?endpoint=URL&region=NAME",
  },
};

const OPTIONS = {
  ...COLLECTOR_OPTIONS,
  host: {
    value: "ADDRESS",
    help: "the address to answer at (default 127.0.0.1); any other needs tokens",
  },
  port: { value: "N", help: `the port (default ${DEFAULT_PORT}; 0 takes a free one)` },
};

export const serveCommand: Command = {
  name: "serve",
  summary: "Collect artifacts, receipts and judgments of many runs, and show them.",
  usage: [
    "upheld serve [--data DIR] [--database URL|env:VAR] [--blobs URL] [--host ADDRESS] [--port N]",
  ],
  options: OPTIONS,
  examples: [
    ["on this machine, with nothing else installed", "upheld serve"],
    [
      "for other machines, on a Postgres server",
      "upheld serve --host 0.0.0.0 --database env:DATABASE_URL",
    ],
    [
      "any number of them, over shared storage",
      "upheld serve --host 0.0.0.0 --database env:DATABASE_URL --blobs s3://evidence",
    ],
  ],
  async run(args, { terminal, interruption, environment, version }) {
    const parsed = parseOptions(OPTIONS, args);
    noArguments(parsed);
    const host = parsed.one("host") ?? "127.0.0.1";
    const port = portOf(parsed.one("port"));
    // A database and a server: loaded when they are wanted.
    const { openCollectorStore, startCollector } = await import("../server/collector.ts");
    const { isLoopbackAddress } = await import("../server/listen.ts");
    await using store = await openCollectorStore(placeOf(parsed, environment));
    if (!isLoopbackAddress(host) && !(await hasTokens(store.database)))
      throw new UpheldError(
        "argument_invalid",
        `--host ${host} is reached by others: make a token first (upheld token --scope admin)`,
      );
    await using listening = await startCollector(store, {
      host,
      port,
      version,
      onFailure: (error) => terminal.err(`upheld serve: ${failureText(error)}\n`),
    });
    terminal.out(`${listening.url}\n`);
    if (listening.isOpen)
      terminal.err("  open to this machine: nobody was given a token (upheld token makes one)\n");
    await ended(interruption.signal);
    return EXIT.asExpected;
  },
};

/** Where the collector keeps its data. Throws "argument_invalid" where a variable is empty. */
export function placeOf(parsed: Parsed, environment: NodeJS.ProcessEnv): CollectorPlace {
  const place = { folder: resolve(parsed.one("data") ?? ".upheld"), blobsUrl: parsed.one("blobs") };
  const given = parsed.one("database");
  if (given === undefined) return place;
  const variable = /^env:(.+)$/.exec(given)?.[1];
  const databaseUrl = variable === undefined ? given : environment[variable];
  // The address itself is never told: it may hold a password.
  if (databaseUrl === undefined || databaseUrl === "")
    throw usage(`--database: ${variable ?? "an address"} is not set`);
  return { ...place, databaseUrl };
}

function portOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw usage(`--port ${text}: expected a whole number from 0 to ${MAX_PORT}`);
}

function failureText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : "unknown failure";
}

/** Resolves when a signal asks the process to end. */
function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
