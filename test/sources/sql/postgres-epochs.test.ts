import { expect, test } from "vitest";
import { SqlSurfaceSource } from "../../../src/sources/sql/source.ts";
import { postgresMissing, startPostgres, systemPostgres } from "../../worlds/postgres-server.ts";

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

/**
 * A frozen row keeps the number of the transaction that wrote it. Transactions count on beyond 2^32, so the run's own can have
 * the same low 32 bits: a rule that goes by the number alone takes the old rows for new ones, and without a key nothing corrects it.
 */
test("frozen rows of an earlier epoch under the run's own transaction numbers, in a table without a key", async (context) => {
  const programs = systemPostgres();
  context.skip(postgresMissing !== undefined, postgresMissing);
  context.skip(programs === undefined, "pg_resetwal is not installed (Debian: postgresql)");
  await using server = await startPostgres({ programs });
  const { name, url } = await server.database();
  let client = await server.connect(name);
  await client.query("CREATE TABLE log (line text)");
  for (const line of ["a", "b", ...Array<string>(10).fill("c")])
    await client.query("INSERT INTO log VALUES ($1)", [line]);
  const { rows: written } = await client.query<{ first: string }>(
    "SELECT min(xmin::text::bigint)::text AS first FROM log",
  );
  const first = Number(written[0]?.first);
  for (const database of ["postgres", "template1", name]) {
    const each = await server.connect(database);
    await each.query("VACUUM FREEZE");
    await each.end();
  }
  await client.end();
  await server.stop("fast");
  // The next transaction is the last before the number of the first row comes again, one epoch later.
  server.run("pg_resetwal", "-f", "-e", "1", "-x", String(first - 1));
  await server.start();
  client = await server.connect(name);
  await using source = new SqlSurfaceSource({ name: "shop", url });
  await using baseline = await source.baseline();
  const ids: string[] = [];
  for (const statement of [
    "INSERT INTO log VALUES ('new')",
    "DELETE FROM log WHERE line = 'a'",
    "UPDATE log SET line = 'B' WHERE line = 'b'",
    "INSERT INTO log VALUES ('c')",
  ]) {
    await client.query("BEGIN");
    const { rows } = await client.query<{ id: string }>("SELECT pg_current_xact_id()::text AS id");
    ids.push(rows[0]?.id ?? "");
    await client.query(statement);
    await client.query("COMMIT");
  }
  // The control: counted without their epoch, the run's transactions are those of old rows, not of the new one alone.
  const { rows: same } = await client.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM log WHERE line = 'c' AND xmin::text = ANY ($1)",
    [ids.map((id) => String(BigInt(id) % 2n ** 32n))],
  );
  expect(BigInt(ids[0] ?? "0")).toBeGreaterThan(2n ** 32n);
  expect(same[0]?.count).toBeGreaterThan(1);
  const [observation] = await source.observe([WHOLE], { baseline });
  await client.end();
  if (observation?.payload.kind !== "surface") throw new Error("no surface was observed");
  const { entries, coverage, attribution } = observation.payload;
  const told = entries.map(({ change, before, now }) => {
    const value = (now ?? before)?.row?.columns[0]?.value;
    return `${change} ${String(value)}`;
  });
  expect([attribution.method, told.toSorted(), coverage.gaps]).toEqual([
    "exact",
    ["created B", "created c", "created new", "deleted a", "deleted b"],
    [],
  ]);
}, 120_000);
