// A Postgres server of the bench's own, in a scratch folder, gone with it.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { Client } from "pg";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** The system's server, which brings psql and pgbench of its own version. */
function programs() {
  const folder = "/usr/lib/postgresql";
  const versions = existsSync(folder) ? readdirSync(folder).toSorted((a, b) => b - a) : [];
  const found = versions.find((version) => existsSync(join(folder, version, "bin", "postgres")));
  return found === undefined ? undefined : join(folder, found, "bin");
}

export const postgresMissing =
  programs() === undefined ? "no Postgres is installed (Debian: postgresql)" : undefined;

/** Starts a server with the settings of a new installation, but for what makes it wait for the disk. */
export async function startPostgres(folder) {
  mkdirSync(folder, { recursive: true });
  // The server is another user, who has to get there.
  chmodSync(dirname(folder), 0o711);
  chmodSync(folder, 0o755);
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const data = join(folder, "data");
  const [initdb, ...args] = asUser([
    join(programs(), "initdb"),
    ..."-U postgres -A trust -E UTF8 --locale=C --no-sync -D".split(" "),
    data,
  ]);
  const made = spawnSync(initdb, args, { encoding: "utf8", cwd: folder });
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const port = await freePort();
  const settings = {
    fsync: "off",
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const [file, ...rest] = asUser([join(programs(), "postgres"), "-D", data, ...options]);
  const server = spawn(file, rest, { stdio: "ignore", cwd: folder });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await ready(url);
  return {
    url,
    async query(...statements) {
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await client.end();
    },
    stop: () =>
      new Promise((resolve) => {
        server.once("exit", resolve);
        server.kill("SIGQUIT");
      }),
  };
}

function asUser(command) {
  const user = ["setpriv", "--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "--"];
  return isRoot ? [...user, ...command] : command;
}

async function ready(url) {
  for (let tries = 0; tries < 200; tries += 1) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error("the Postgres server did not start");
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
