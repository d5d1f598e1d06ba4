import type { Client } from "pg";
import { expect, test } from "vitest";
import type { SurfaceEntry } from "../../../src/core/entry.ts";
import type { Observation, SurfacePayload } from "../../../src/core/observation.ts";
import { SqlSurfaceSource } from "../../../src/sources/sql/source.ts";
import { postgresMissing, startPostgres } from "../../worlds/postgres-server.ts";
import {
  chance,
  difference,
  dump,
  makeWorld,
  randomSteps,
  randomTransaction,
} from "../../worlds/random-database.ts";

const isSoak = process.env["UPHELD_SOAK"] === "1";
const SIZE = isSoak ? { rows: 1_000_000, tables: 200 } : { rows: 20_000, tables: 12 };
const SEEDS = isSoak ? 100 : 5;

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

function lineOf({ change, uri, now, before }: SurfaceEntry): string {
  const name = uri.replace("shop:/public/", "");
  if (!name.startsWith("loose?")) return `${change} ${name}`;
  const values = (now ?? before)?.row?.columns.map(({ value }) => value ?? "") ?? [];
  return `${change} loose (${values.join(",")})`;
}

function payloadOf(observation: Observation | undefined): SurfacePayload {
  if (observation?.payload.kind !== "surface") throw new Error("no surface was observed");
  return observation.payload;
}

/** The rule that looks right: a row is new when its transaction is not visible in the snapshot of before. */
async function naiveNewRows(client: Client, snapshot: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(
    `SELECT count(*) AS n FROM big WHERE NOT pg_visible_in_snapshot(
       ((pg_snapshot_xmax(pg_current_snapshot())::text::bigint >> 32 << 32) + xmin::text::bigint)::text::xid8, $1)`,
    [snapshot],
  );
  return Number(rows[0]?.n);
}

test(
  `the delta equals the difference of two full dumps, ${SEEDS} times, and the naive rule's does not`,
  { timeout: isSoak ? 14_400_000 : 240_000 },
  async (context) => {
    context.skip(postgresMissing !== undefined, postgresMissing);
    await using server = await startPostgres();
    const { name, url } = await server.database();
    const [main, across, open] = [
      await server.connect(name),
      await server.connect(name),
      await server.connect(name),
    ];
    await makeWorld(main, SIZE);
    let naiveMisses = 0;
    let before = await dump(main);
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = chance(seed);
      await across.query("BEGIN");
      for (let part = 0; part < 4; part += 1) {
        await across.query(`SAVEPOINT p${part}`);
        await randomSteps(across, random, SIZE, 1);
      }
      const id = Math.floor(random(SIZE.rows) / 3) * 3 + 1;
      await across.query(
        `UPDATE big SET n = n + 1 WHERE id BETWEEN ${id} AND ${id + 6} AND id % 3 = 1`,
      );
      await using source = new SqlSurfaceSource({ name: "shop", url });
      await using baseline = await source.baseline();
      const { rows } = await main.query<{ s: string }>("SELECT pg_current_snapshot()::text AS s");
      for (let count = 0; count < 12; count += 1) await randomTransaction(main, random, SIZE, 0);
      await randomSteps(across, random, SIZE, 1);
      await across.query(seed % 4 === 0 ? "ROLLBACK" : "COMMIT");
      await open.query("BEGIN");
      await open.query(`UPDATE small_0 SET v = 'open' WHERE id = 2`);
      const [observation] = await source.observe([WHOLE], { baseline });
      const now = await dump(main);
      const want = difference(before, now);
      // What a transaction rewrote and what one inserted are both new rows of the table.
      const wantNew = want.filter((line) => /^(created|modified) big/.test(line)).length;
      const { entries, coverage, attribution } = payloadOf(observation);
      const got = entries
        .filter(({ change }) => change !== "touched")
        .map(lineOf)
        .toSorted();
      expect(attribution.method).toBe("exact");
      expect(got, `seed ${seed}`).toEqual(want);
      expect(coverage.gaps.map(({ code, location }) => `${code} ${location}`)).toEqual([
        "transaction_open shop:/public/small_0",
      ]);
      const touched = entries.filter(
        ({ change, uri }) => change === "touched" && uri.includes("/big?"),
      ).length;
      if ((await naiveNewRows(main, rows[0]?.s ?? "")) !== wantNew + touched) naiveMisses += 1;
      await open.query("ROLLBACK");
      before = now;
    }
    expect(naiveMisses).toBeGreaterThan(0);
    for (const client of [main, across, open]) await client.end();
  },
);
