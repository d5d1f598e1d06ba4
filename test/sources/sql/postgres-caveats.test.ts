import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Observation, SurfacePayload } from "../../../src/core/observation.ts";
import { SqlSurfaceSource, type SqlOptions } from "../../../src/sources/sql/source.ts";
import {
  postgresMissing,
  startPostgres,
  type PostgresServer,
} from "../../worlds/postgres-server.ts";

let server: PostgresServer;

/** The server writes down how long each statement ran and waited for locks, by its own clock. */
const TIMED = [
  "logging_collector=on",
  "log_line_prefix=%p ",
  "log_lock_waits=on",
  "log_min_duration_statement=0",
  "deadlock_timeout=20ms",
];

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres({ settings: TIMED });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

const WHOLE = {
  scorable: { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" },
  extent: "delta",
} as const;

const ORDERS = [
  "CREATE TABLE orders (id int PRIMARY KEY, status text)",
  "INSERT INTO orders VALUES (1, 'new'), (2, 'new'), (3, 'new')",
];

interface World extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly client: Client;
}

async function world(...statements: readonly string[]): Promise<World> {
  const { name, url } = await server.database();
  const client = await server.connect(name);
  for (const statement of [...ORDERS, ...statements]) await client.query(statement);
  return { name, url, client, [Symbol.asyncDispose]: () => client.end().catch(() => undefined) };
}

const payloadOf = (observations: readonly Observation[]): SurfacePayload => {
  const payload = observations[0]?.payload;
  if (payload?.kind !== "surface") throw new Error("no surface was observed");
  return payload;
};
const gapsOf = ({ coverage }: SurfacePayload): readonly string[] =>
  coverage.gaps.map(({ code, location }) => `${code} ${location}`);
const told = ({ entries }: SurfacePayload): readonly string[] =>
  entries.map(({ change, uri }) => `${change} ${uri.replace("shop:/public/", "")}`).toSorted();

/** The log is written by a process of its own: it comes when it comes. */
const SOON = { interval: 50, timeout: 30_000 };

/** Milliseconds that the server says a session has spent on what a pattern names: with a group for them. */
async function timesInServer(pid: number, pattern: RegExp): Promise<readonly number[]> {
  const admin = await server.connect("postgres");
  const { rows } = await admin.query<{ log: string }>(
    "SELECT pg_read_file(pg_current_logfile()) AS log",
  );
  await admin.end();
  return (rows[0]?.log ?? "")
    .split("\n")
    .filter((line) => line.startsWith(`${pid} `))
    .flatMap((line) => Number(pattern.exec(line)?.[1] ?? "NaN"))
    .filter((time) => !Number.isNaN(time));
}

const sum = (times: readonly number[]): number => times.reduce((all, time) => all + time, 0);

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid ?? 0;
}

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

/* oxlint-disable vitest/no-standalone-expect, vitest/valid-title -- each claim is a test, skipped where there is no server */
function claim(name: string, run: () => Promise<void>): void {
  test(name, { timeout: 60_000 }, async (context) => {
    context.skip(postgresMissing !== undefined, postgresMissing);
    await run();
  });
}

describe("while the snapshot is held, the agent is not kept waiting", () => {
  const rows: readonly {
    readonly statement: string;
    readonly method: string;
    readonly want: readonly string[];
  }[] = [
    {
      statement: "TRUNCATE orders",
      method: "exact",
      want: ["deleted orders?id=1", "deleted orders?id=2", "deleted orders?id=3"],
    },
    {
      statement: "ALTER TABLE orders ADD COLUMN note text",
      method: "exact",
      want: ["modified orders"],
    },
    {
      statement: "ALTER TABLE orders ALTER COLUMN id TYPE bigint",
      method: "exact",
      want: ["modified orders"],
    },
    { statement: "VACUUM orders", method: "exact", want: [] },
    { statement: "VACUUM FULL orders", method: "exact", want: [] },
    { statement: "VACUUM FREEZE", method: "exact", want: [] },
    { statement: "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE", method: "exact", want: [] },
    { statement: "CREATE INDEX CONCURRENTLY ON orders (status)", method: "baseline", want: [] },
    { statement: "REINDEX TABLE CONCURRENTLY orders", method: "baseline", want: [] },
  ];
  for (const { statement, method, want } of rows)
    claim(`${statement}: ${method}`, async () => {
      await using w = await world();
      await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
      await using baseline = await source.baseline();
      const pid = await pidOf(w.client);
      if (statement.startsWith("LOCK")) await w.client.query("BEGIN");
      await w.client.query(statement);
      const waited = await vi.waitUntil(async () => {
        const times = await timesInServer(pid, /acquired \w+ on .* after ([\d.]+) ms/);
        return method === "baseline" && times.length === 0 ? undefined : { times };
      }, SOON);
      expect(sum(waited.times)).toBeLessThan(2_000);
      if (statement.startsWith("LOCK")) await w.client.query("COMMIT");
      const payload = payloadOf(await source.observe([WHOLE], { baseline }));
      expect([payload.attribution.method, told(payload), gapsOf(payload)]).toEqual([
        method,
        want,
        [],
      ]);
      if (method === "baseline")
        expect(payload.attribution.reason).toContain("waits for the held snapshot");
    });

  claim("a role that may only read sees that another role's session waits", async () => {
    await using w = await world(
      "DROP ROLE IF EXISTS onlooker",
      "CREATE ROLE onlooker LOGIN",
      "GRANT SELECT ON orders TO onlooker",
    );
    await using source = new SqlSurfaceSource({
      name: "shop",
      url: server.url(w.name, "onlooker"),
    });
    await using baseline = await source.baseline();
    const pid = await pidOf(w.client);
    await w.client.query("CREATE INDEX CONCURRENTLY ON orders (status)");
    const [waited] = await vi.waitUntil(async () => {
      const times = await timesInServer(pid, /acquired \w+ on .* after ([\d.]+) ms/);
      return times.length === 0 ? undefined : times;
    }, SOON);
    expect(waited).toBeLessThan(2_000);
    await w.client.query("UPDATE orders SET status = 'paid' WHERE id = 1");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect([payload.attribution.method, told(payload)]).toEqual([
      "baseline",
      ["modified orders?id=1"],
    ]);
    await w.client.query("DROP OWNED BY onlooker");
    await w.client.query("DROP ROLE onlooker");
  });

  claim("DROP DATABASE succeeds, and that the database is gone is said", async () => {
    await using w = await world();
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    await using baseline = await source.baseline();
    await w.client.end();
    const admin = await server.connect("postgres");
    const pid = await pidOf(admin);
    await admin.query(`DROP DATABASE ${w.name}`);
    await admin.end();
    const [duration] = await vi.waitUntil(async () => {
      const times = await timesInServer(pid, /duration: ([\d.]+) ms +statement: DROP DATABASE/);
      return times.length === 0 ? undefined : times;
    }, SOON);
    expect(duration).toBeLessThan(2_000);
    const observations = await source.observe([WHOLE], { baseline });
    expect(observations[0]?.acquisition).toBe("unavailable");
    expect(gapsOf(payloadOf(observations))).toEqual(["database_unavailable shop:/"]);
  });
});

describe("when the snapshot is gone", () => {
  /** Long enough for the digests to be taken meanwhile. */
  const HOLD_MS = 3_000;
  const large =
    "INSERT INTO orders SELECT g, repeat(md5(g::text), 30) FROM generate_series(10, 40000) g";

  claim("held for longer than allowed: digests where they were stored", async () => {
    await using w = await world();
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url }, { holdMs: HOLD_MS });
    await using baseline = await source.baseline();
    await sleep(HOLD_MS + 1_000);
    await w.client.query("UPDATE orders SET status = 'paid' WHERE id = 1");
    await w.client.query("INSERT INTO orders VALUES (9, 'x')");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect(payload.attribution).toMatchObject({
      method: "baseline",
      reason: "the snapshot was let go: held for 3 s",
    });
    expect(told(payload)).toEqual(["created orders?id=9", "modified orders?id=1"]);
  });

  claim("and a gap at each table of which none were", async () => {
    await using w = await world(large, "CREATE TABLE tiny (id int PRIMARY KEY)");
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url }, { holdMs: HOLD_MS });
    await using baseline = await source.baseline();
    await sleep(HOLD_MS + 1_000);
    await w.client.query("INSERT INTO tiny VALUES (1)");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect(told(payload)).toEqual(["created tiny?id=1"]);
    expect(gapsOf(payload)).toEqual(["baseline_released shop:/public/orders"]);
  });

  claim("fault 19: the server is restarted in the middle of the run", async () => {
    await using own = await startPostgres();
    const { name, url } = await own.database();
    const client = await own.connect(name);
    // An immediate stop loses what a commit did not wait for.
    await client.query("SET synchronous_commit = on");
    for (const statement of ORDERS) await client.query(statement);
    await using source = new SqlSurfaceSource({ name: "shop", url });
    await using baseline = await source.baseline();
    await own.stop("immediate");
    const down = await source.observe([WHOLE], { baseline });
    expect(down[0]?.acquisition).toBe("unavailable");
    expect(gapsOf(payloadOf(down))).toEqual(["database_unavailable shop:/"]);
    await own.start();
    const again = await own.connect(name);
    await again.query("DELETE FROM orders WHERE id = 1");
    await again.end();
    const up = payloadOf(await source.observe([WHOLE], { baseline }));
    expect([up.attribution.method, told(up)]).toEqual(["baseline", ["deleted orders?id=1"]]);
    expect(up.attribution.reason).toContain("was lost");
  });
});

describe("what cannot be seen is said", () => {
  claim("rows hidden from this role, tables it may not read, and what it may", async () => {
    await using w = await world(
      "CREATE TABLE secret (id int PRIMARY KEY)",
      "CREATE TABLE guarded (id int PRIMARY KEY)",
      "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
      "DROP ROLE IF EXISTS viewer",
      "CREATE ROLE viewer LOGIN",
      "GRANT SELECT ON orders, guarded TO viewer",
    );
    await using source = new SqlSurfaceSource({ name: "shop", url: server.url(w.name, "viewer") });
    await using baseline = await source.baseline();
    await w.client.query("UPDATE orders SET status = 'x' WHERE id = 1");
    await w.client.query("INSERT INTO secret VALUES (1)");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect(told(payload)).toEqual(["modified orders?id=1"]);
    expect(gapsOf(payload)).toEqual([
      "rows_hidden shop:/public/guarded",
      "rows_hidden shop:/public/secret",
    ]);
    await w.client.query("DROP OWNED BY viewer");
    await w.client.query("DROP ROLE viewer");
  });

  claim("transactions that are open, prepared, or making a table", async () => {
    await using w = await world(
      "CREATE TABLE a (id int PRIMARY KEY)",
      "CREATE TABLE b (id int PRIMARY KEY)",
    );
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    await using baseline = await source.baseline();
    const [one, two] = [await server.connect(w.name), await server.connect(w.name)];
    await one.query("BEGIN");
    await one.query("INSERT INTO a VALUES (1)");
    await two.query("BEGIN");
    await two.query("INSERT INTO b VALUES (1)");
    await two.query(`PREPARE TRANSACTION 'later_${w.name}'`);
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect([told(payload), gapsOf(payload)]).toEqual([
      [],
      ["transaction_open shop:/public/a", "transaction_open shop:/public/b"],
    ]);
    await two.query(`COMMIT PREPARED 'later_${w.name}'`);
    await one.query("CREATE TABLE hidden (id int)");
    const again = payloadOf(await source.observe([WHOLE], { baseline }));
    expect(told(again)).toEqual(["created b?id=1"]);
    expect(gapsOf(again).toSorted()).toEqual([
      "transaction_open shop:/",
      "transaction_open shop:/public/a",
    ]);
    await one.end();
    await two.end();
  });

  claim(
    "fault 20: a locked table is a gap at it within the limit, and the others are read",
    async () => {
      for (const [limit, statementTimeoutMs] of [
        ["deadline_passed shop:/public/locked 55P03", 600_000],
        ["deadline_passed shop:/public/locked 57014", 1_000],
      ] as const) {
        await using w = await world("CREATE TABLE locked (id int PRIMARY KEY)");
        await using source = new SqlSurfaceSource(
          { name: "shop", url: w.url },
          { statementTimeoutMs },
        );
        await using baseline = await source.baseline();
        await w.client.query("ALTER TABLE orders DROP COLUMN status");
        await w.client.query("DELETE FROM orders WHERE id = 2");
        await w.client.query("BEGIN");
        await w.client.query("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE");
        const payload = payloadOf(await source.observe([WHOLE], { baseline }));
        expect(told(payload)).toEqual(["deleted orders?id=2", "modified orders"]);
        const gaps = payload.coverage.gaps.map(
          ({ code, location, detail }) =>
            `${code} ${location} ${/\((\w+)\)/.exec(detail ?? "")?.[1] ?? ""}`,
        );
        expect(gaps.toSorted()).toEqual([limit, "transaction_open shop:/public/locked "]);
        await w.client.query("ROLLBACK");
      }
    },
  );

  claim("fault 20: a column that is dropped in the middle of the look", async () => {
    await using w = await world("CREATE TABLE later (id int PRIMARY KEY)");
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    await using baseline = await source.baseline();
    await w.client.query("DELETE FROM orders WHERE id = 2");
    await w.client.query("INSERT INTO later VALUES (1)");
    await w.client.query("BEGIN");
    await w.client.query("ALTER TABLE orders DROP COLUMN status");
    const looking = source.observe([WHOLE], { baseline });
    await vi.waitUntil(async () => {
      const { rows } = await w.client.query(
        "SELECT FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass",
      );
      return rows.length > 0;
    }, SOON);
    await w.client.query("COMMIT");
    const payload = payloadOf(await looking);
    expect(told(payload)).toEqual(["created later?id=1"]);
    expect(gapsOf(payload).toSorted()).toEqual([
      "changed_during_read shop:/public/orders",
      "transaction_open shop:/public/orders",
    ]);
  });

  claim("more changed rows than are kept", async () => {
    await using w = await world();
    await using source = new SqlSurfaceSource(
      { name: "shop", url: w.url },
      { limits: { maxRows: 10 } },
    );
    await using baseline = await source.baseline();
    await w.client.query("INSERT INTO orders SELECT g, 'x' FROM generate_series(10, 109) g");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect([payload.coverage.shown, payload.coverage.total]).toEqual([10, 100]);
    expect(gapsOf(payload)).toEqual(["row_limit_exceeded shop:/public/orders"]);
  });

  claim("views, sequences and other writers are told of", async () => {
    await using w = await world("CREATE VIEW paid AS SELECT * FROM orders");
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    await using baseline = await source.baseline();
    const [observation] = await source.observe([WHOLE], { baseline });
    expect(observation?.metadata["notRead"]).toContain("view shop:/public/paid");
    expect(observation?.metadata["writers"]).toContain("every writer");
  });

  claim("without a baseline: missing", async () => {
    await using w = await world();
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    const payload = payloadOf(await source.observe([WHOLE]));
    expect([payload.attribution.method, gapsOf(payload)]).toEqual([
      "none",
      ["baseline_missing shop:/"],
    ]);
  });
});

describe("stored digests", () => {
  const options: SqlOptions = { attribution: "baseline" };

  claim("across two processes: keys and values of what came, keys of what went", async () => {
    await using w = await world(
      "CREATE TABLE loose (a int)",
      "INSERT INTO loose VALUES (1), (1), (2)",
      "CREATE TABLE event (id int, day int, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
      "CREATE TABLE event_a PARTITION OF event FOR VALUES FROM (0) TO (10)",
      "CREATE TABLE event_b PARTITION OF event FOR VALUES FROM (10) TO (20)",
      "INSERT INTO event VALUES (1, 1, 'a'), (2, 12, 'b')",
    );
    const folder = mkdtempSync(join(tmpdir(), "upheld-digests-"));
    try {
      {
        await using first = new SqlSurfaceSource({ name: "shop", url: w.url }, options);
        await using baseline = await first.baseline();
        expect(baseline.method).toBe("baseline");
        await first.saveBaseline(baseline, folder);
      }
      expect(readFileSync(join(folder, "digests.jsonl"), "utf8")).not.toContain("new");
      await w.client.query("UPDATE orders SET status = 'paid' WHERE id = 2");
      await w.client.query("DELETE FROM orders WHERE id = 3");
      await w.client.query("DELETE FROM loose WHERE ctid = '(0,1)'");
      await w.client.query("UPDATE event SET day = 13 WHERE id = 1");
      await w.client.query("CREATE TABLE made (id int PRIMARY KEY)");
      await w.client.query("INSERT INTO made VALUES (5)");
      await using second = new SqlSurfaceSource({ name: "shop", url: w.url }, options);
      const baseline = await second.openBaseline(folder);
      const payload = payloadOf(await second.observe([WHOLE], { baseline }));
      expect(payload.attribution.method).toBe("baseline");
      expect(told(payload).map((line) => line.replace(/row=.*/, "row"))).toEqual([
        "created event?id=1&day=13",
        "created made",
        "created made?id=5",
        "deleted event?id=1&day=1",
        "deleted loose?row",
        "deleted orders?id=3",
        "modified orders?id=2",
      ]);
      const modified = payload.entries.find(
        ({ change, uri }) => change === "modified" && uri.includes("orders"),
      );
      expect(modified?.before?.row).toMatchObject({ partial: true, key: ["id"] });
      expect(modified?.now?.row?.columns.map(({ value }) => value)).toEqual(["2", "paid"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("too many rows", () => {
  claim("what a row was and what it is are kept together", async () => {
    await using w = await world("INSERT INTO orders SELECT g, 'x' FROM generate_series(10, 500) g");
    await using source = new SqlSurfaceSource(
      { name: "shop", url: w.url },
      { limits: { maxRows: 20 } },
    );
    await using baseline = await source.baseline();
    await w.client.query("UPDATE orders SET status = 'y' WHERE id > 9");
    const payload = payloadOf(await source.observe([WHOLE], { baseline }));
    expect(payload.entries.map(({ change }) => change)).toEqual(Array(20).fill("modified"));
    expect([payload.coverage.total, gapsOf(payload)]).toEqual([
      491,
      ["row_limit_exceeded shop:/public/orders"],
    ]);
  });
});

describe("errors", () => {
  claim("never tell the address or its password", async () => {
    for (const url of [
      "postgres://user:s3cret-word@127.0.0.1:1/shop",
      "postgres://user:s3cret-word@[bad/shop",
      `${server.url("no_such_database")}?password=s3cret-word`,
    ]) {
      await using source = new SqlSurfaceSource({ name: "shop", url });
      const error: unknown = await source.baseline().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "database_unavailable" });
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("s3cret-word");
      expect(JSON.stringify(await source.observe([WHOLE]))).not.toContain("s3cret-word");
    }
  });

  claim("aborted, it rejects with the reason", async () => {
    await using w = await world();
    await using source = new SqlSurfaceSource({ name: "shop", url: w.url });
    await using baseline = await source.baseline();
    const controller = new AbortController();
    const asked = source.observe([WHOLE], { baseline, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
  });
});
