import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended } from "../cli/upheld.ts";
import { postgresMissing, startPostgres, type PostgresServer } from "../worlds/postgres-server.ts";

const PROGRAM = join(import.meta.dirname, "../worlds/sealed-database.mjs");

let server: PostgresServer;

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

const ORDERS = `CREATE TABLE orders (id integer PRIMARY KEY, status text, at timestamptz, total numeric)`;
const NOTES = "CREATE TABLE notes (body text)";
const USERS = "CREATE TABLE users (name text PRIMARY KEY)";
const words = ["zebra", "Äpfel", "apple", "Zoo", "ı", "I", "i", "İ", "_", "Ω", "😀"];
const listed = (texts: readonly string[]): string => texts.map((text) => `('${text}')`).join(", ");

/** One world, filled in two orders. */
const WORLDS: readonly (readonly string[])[] = [
  [
    ORDERS,
    NOTES,
    USERS,
    "INSERT INTO orders SELECT g, 'new', '2026-01-01 00:00:00+00', g / 7.0 FROM generate_series(1, 340) g",
    `INSERT INTO notes VALUES ${listed(words)}`,
    `INSERT INTO users VALUES ${listed(words)}`,
  ],
  [
    USERS,
    `INSERT INTO users VALUES ${listed(words.toReversed())}`,
    NOTES,
    `INSERT INTO notes VALUES ${listed(words.toReversed())}`,
    ORDERS,
    "INSERT INTO orders SELECT g, 'draft', '2026-01-01 00:00:00+00', g / 7.0 FROM generate_series(340, 1, -1) g",
    "UPDATE orders SET status = 'new'",
  ],
];

const PLACES = [
  { TZ: "Pacific/Kiritimati", LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8" },
  { TZ: "America/St_Johns", LC_ALL: "C", LANG: "C" },
];

async function seal(statements: readonly string[], place: NodeJS.ProcessEnv): Promise<string> {
  const { name, url } = await server.database();
  const client = await server.connect(name);
  for (const statement of statements) await client.query(statement);
  await client.query(`ALTER DATABASE "${name}" SET timezone TO '${place["TZ"] ?? "UTC"}'`);
  await client.end();
  const env = { ...process.env, ...place };
  const done = await ended(spawn(process.execPath, [PROGRAM, url], { env }));
  expect(done.code, done.stderr).toBe(0);
  return done.stdout;
}

test(
  "one world, filled in two orders and sealed in two time zones and languages, gives the same bytes",
  { timeout: 240_000 },
  async (context) => {
    context.skip(postgresMissing !== undefined, postgresMissing);
    const [one, other] = await Promise.all(
      WORLDS.map((statements, index) => seal(statements, PLACES[index] ?? {})),
    );
    expect(other).toBe(one);
    expect(one?.split("\n").length).toBeGreaterThan(6);
    // The control: another world is told apart.
    const changed = [...(WORLDS[0] ?? []), "UPDATE orders SET total = 0 WHERE id = 1"];
    expect(await seal(changed, PLACES[0] ?? {})).not.toBe(one);
  },
);
