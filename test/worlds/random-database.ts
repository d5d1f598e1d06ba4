import type { Client } from "pg";

/** Numbers that look random and are the same for one seed. */
export function chance(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export interface WorldSize {
  readonly rows: number;
  readonly tables: number;
}

/** A shop with one large table, small ones, partitions, parents and children, large values, and a table without a key. */
export async function makeWorld(client: Client, { rows, tables }: WorldSize): Promise<void> {
  const statements = [
    "CREATE TABLE big (id bigint PRIMARY KEY, status text, n int, price numeric(12,2), at timestamptz)",
    `INSERT INTO big SELECT g, 'new', g % 97, g / 7.0, '2026-01-01'::timestamptz + g * interval '1 second' FROM generate_series(1, ${rows}) g`,
    "CREATE TABLE parent (id int PRIMARY KEY, name text)",
    "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON UPDATE CASCADE, note text)",
    "INSERT INTO parent SELECT g, 'p' || g FROM generate_series(1, 300) g",
    "INSERT INTO child SELECT g, g, 'c' FROM generate_series(1, 300) g",
    "CREATE TABLE event (id int, day int, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE event_a PARTITION OF event FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE event_b PARTITION OF event FOR VALUES FROM (10) TO (20)",
    "INSERT INTO event SELECT g, g % 20, 'e' FROM generate_series(1, 300) g",
    "CREATE TABLE doc (id int PRIMARY KEY, body text)",
    "INSERT INTO doc SELECT g, repeat(md5(g::text), 400) FROM generate_series(1, 60) g",
    "CREATE TABLE loose (a int, b text)",
    "INSERT INTO loose SELECT g % 40, 'l' || g % 7 FROM generate_series(1, 300) g",
    ...Array.from({ length: tables }, (_, index) => [
      `CREATE TABLE small_${index} (id int PRIMARY KEY, v text)`,
      `INSERT INTO small_${index} SELECT g, 'v' FROM generate_series(1, 30) g`,
    ]).flat(),
    "ANALYZE",
  ];
  for (const statement of statements) await client.query(statement);
}

/** One random statement on rows whose id leaves this remainder by three, so that sessions never wait for each other. */
export function randomStatement(
  random: (below: number) => number,
  { rows, tables }: WorldSize,
  remainder: number,
): string {
  const own = (below: number): number => Math.floor(random(below) / 3) * 3 + remainder;
  const id = own(rows);
  const fresh = own(900_000_000) + rows + 1_000;
  const small = `small_${random(tables)}`;
  const text = `x${random(1_000_000)}`;
  const choices = [
    `INSERT INTO big VALUES (${fresh}, '${text}', 1, 1.5, now()) ON CONFLICT DO NOTHING`,
    `UPDATE big SET status = '${text}' WHERE id = ${id}`,
    `UPDATE big SET n = n WHERE id = ${id}`,
    `UPDATE big SET price = price + 1 WHERE id BETWEEN ${id} AND ${id + 60} AND id % 3 = ${remainder}`,
    `DELETE FROM big WHERE id = ${id}`,
    `DELETE FROM big WHERE id BETWEEN ${id} AND ${id + 20} AND id % 3 = ${remainder}`,
    `SELECT 1 FROM big WHERE id = ${id} FOR UPDATE`,
    `SELECT 1 FROM big WHERE id BETWEEN ${id} AND ${id + 40} AND id % 3 = ${remainder} FOR NO KEY UPDATE`,
    `UPDATE ${small} SET v = '${text}' WHERE id = ${own(30)}`,
    `DELETE FROM ${small} WHERE id = ${own(30)}`,
    `INSERT INTO ${small} VALUES (${own(300)}, '${text}') ON CONFLICT (id) DO UPDATE SET v = excluded.v`,
    `INSERT INTO child SELECT ${fresh % 1_000_000_000}, id, 'n' FROM parent WHERE id % 3 = ${remainder} ORDER BY id LIMIT 1 ON CONFLICT DO NOTHING`,
    `UPDATE parent SET name = '${text}' WHERE id = ${own(300)}`,
    `UPDATE event SET day = (day + 10) % 20 WHERE id = ${own(300)}`,
    `UPDATE event SET note = '${text}' WHERE id = ${own(300)}`,
    `DELETE FROM event WHERE id = ${own(300)}`,
    `UPDATE doc SET body = body || '${text}' WHERE id = ${own(60)}`,
    `INSERT INTO loose VALUES (${own(40)}, '${text}')`,
    `DELETE FROM loose WHERE a = ${own(39)} AND b = 'l${random(7)}'`,
    `UPDATE loose SET b = 'l${random(7)}' WHERE a = ${own(39)}`,
  ];
  return choices[random(choices.length)] ?? "SELECT 1";
}

/** A few statements in one transaction, with savepoints that are kept or not, and an end that is a commit or not. */
export async function randomTransaction(
  client: Client,
  random: (below: number) => number,
  size: WorldSize,
  remainder: number,
): Promise<void> {
  await client.query("BEGIN");
  await randomSteps(client, random, size, remainder);
  await client.query(random(5) === 0 ? "ROLLBACK" : "COMMIT");
}

export async function randomSteps(
  client: Client,
  random: (below: number) => number,
  size: WorldSize,
  remainder: number,
): Promise<void> {
  for (let step = 1 + random(5); step > 0; step -= 1) {
    const saved = random(3) === 0;
    if (saved) await client.query("SAVEPOINT here");
    await client.query(randomStatement(random, size, remainder));
    if (saved) await client.query(random(2) === 0 ? "ROLLBACK TO here" : "RELEASE here");
  }
}

/** Every row of every table: by key where there is one, else how many there are of each. */
export type Dump = ReadonlyMap<string, ReadonlyMap<string, string>>;

export async function dump(client: Client): Promise<Dump> {
  const { rows: tables } = await client.query<{ name: string; key: string | null }>(
    `SELECT c.relname AS name, (SELECT string_agg(a.attname, ',' ORDER BY array_position(i.indkey::int2[], a.attnum))
       FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[])
       WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const found = new Map<string, ReadonlyMap<string, string>>();
  for (const { name, key } of tables) {
    const rows = new Map<string, string>();
    if (key === null) {
      const { rows: counted } = await client.query<{ k: string; n: string }>(
        `SELECT t::text AS k, count(*)::text AS n FROM ${name} t GROUP BY 1`,
      );
      for (const { k, n } of counted) rows.set(k, n);
    } else {
      const names = key.split(",");
      const place = names.map((each) => `'${each}=' || ${each}`).join(" || '&' || ");
      const { rows: all } = await client.query<{ k: string; d: string }>(
        `SELECT ${place} AS k, md5(t::text) AS d FROM ${name} t`,
      );
      for (const { k, d } of all) rows.set(k, d);
    }
    found.set(name, rows);
  }
  return found;
}

/** The difference of two dumps, a line a row. */
export function difference(before: Dump, now: Dump): readonly string[] {
  const lines: string[] = [];
  for (const [table, rows] of now) {
    const old = before.get(table) ?? new Map<string, string>();
    if (table === "loose") {
      lines.push(...looseDifference(old, rows));
      continue;
    }
    for (const [key, digest] of rows) {
      const was = old.get(key);
      if (was === undefined) lines.push(`created ${table}?${key}`);
      else if (was !== digest) lines.push(`modified ${table}?${key}`);
    }
    for (const key of old.keys()) if (!rows.has(key)) lines.push(`deleted ${table}?${key}`);
  }
  return lines.toSorted();
}

function looseDifference(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((row) => {
    const balance = Number(now.get(row) ?? 0) - Number(before.get(row) ?? 0);
    const change = balance > 0 ? "created" : "deleted";
    return Array.from({ length: Math.abs(balance) }, () => `${change} loose ${row}`);
  });
}
