import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Matcher } from "../../../src/core/matcher.ts";
import { gapsOf, parseObservation, type Observation } from "../../../src/core/observation.ts";
import type { ObservationRequest } from "../../../src/core/source.ts";
import type { SurfaceScorable } from "../../../src/core/scorable.ts";
import { sqliteDriver } from "../../../src/sources/sql/sqlite/driver.ts";
import { SqlSurfaceSource, type SqlOptions } from "../../../src/sources/sql/source.ts";
import {
  postgresMissing,
  startPostgres,
  type PostgresServer,
} from "../../worlds/postgres-server.ts";

/**
 * What every source owes, asked of databases: the exported suite speaks of places that hold text, and a row is no text. The
 * delta itself is the matter of the tests of each engine.
 */
let server: PostgresServer;

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

interface World extends AsyncDisposable {
  source(options?: SqlOptions): SqlSurfaceSource;
  unreachable(): SqlSurfaceSource;
  run(...statements: readonly string[]): Promise<void>;
}

async function postgresWorld(): Promise<World> {
  const { name, url } = await server.database();
  const client = await server.connect(name);
  return {
    source: (options) => new SqlSurfaceSource({ name: "shop", url }, options),
    unreachable: () => new SqlSurfaceSource({ name: "shop", url: server.url("not_there") }),
    run: async (...statements) => {
      for (const statement of statements) await client.query(statement);
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

const sqliteSource = (path: string, options?: SqlOptions): SqlSurfaceSource =>
  new SqlSurfaceSource({ name: "shop", url: `sqlite:${path}` }, options);

async function sqliteWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "upheld-sql-contract-"));
  const file = join(folder, "shop.db");
  mkdirSync(join(folder, "directory.db"));
  return {
    source: (options) => sqliteSource(file, options),
    unreachable: () => sqliteSource(join(folder, "directory.db")),
    run: async (...statements) => {
      const database = sqliteDriver()(file);
      for (const statement of statements) database.exec(statement);
      database.close();
    },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Request = ObservationRequest<SurfaceScorable>;

const asked = (path: string, more: Partial<Request> = {}): Request => ({
  scorable: { kind: "surface", uri: `shop:/${path}`, surface: "sql", match: "glob" },
  extent: "delta",
  ...more,
});

const TABLES = [
  "CREATE TABLE orders (id INTEGER PRIMARY KEY, status VARCHAR(20))",
  "CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(20))",
  "INSERT INTO orders VALUES (1, 'new'), (2, 'new')",
];
const RUN = ["UPDATE orders SET status = 'paid' WHERE id = 1", "INSERT INTO notes VALUES (7, 'x')"];

const urisOf = ({ payload }: Observation): readonly string[] =>
  payload.kind === "surface" ? payload.entries.map(({ uri }) => uri).toSorted() : [];
const factsOf = (observation: Observation): string =>
  canonicalJson({ ...observation, id: "", observedAt: "" });
const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "an answer",
    (reason: unknown) => reason,
  );

const contains = (value: string): Matcher => ({
  kind: "contains",
  value,
  caseSensitive: true,
  lineEndings: "any",
  unicode: "nfc",
  alsoEncoded: [],
});

/** What is owed, and how many of the world's rows it is about: the locations differ by the engine's schema. */
const DUTIES: readonly (readonly [
  string,
  (world: World, source: SqlSurfaceSource) => Promise<void>,
])[] = [
  [
    "answers each request in order, with its scorable unchanged",
    async (world, source) => {
      await using baseline = await source.baseline();
      await world.run(...RUN);
      const requests = ["**", "**/orders**", "none/**"].map((path) => asked(path));
      const observations = await source.observe(requests, { baseline });
      expect(observations.map(({ scorable }) => scorable)).toEqual(
        requests.map(({ scorable }) => scorable),
      );
      expect(observations.map((each) => urisOf(each).length)).toEqual([2, 1, 0]);
      expect(await source.observe([])).toEqual([]);
    },
  ],
  [
    "is what its own schema says, complete exactly when it has no gap, each location once",
    async (world, source) => {
      await using baseline = await source.baseline();
      await world.run(...RUN);
      for (const observation of await source.observe([asked("**")], { baseline })) {
        expect(parseObservation(JSON.parse(JSON.stringify(observation)))).toEqual(observation);
        expect([observation.acquisition, gapsOf(observation.payload)]).toEqual(["complete", []]);
        expect(new Set(urisOf(observation)).size).toBe(urisOf(observation).length);
      }
    },
  ],
  [
    "gives the same of a world that stands still, whatever is looked for",
    async (world, source) => {
      await using baseline = await source.baseline();
      await world.run(...RUN);
      const look = async (...probes: readonly Matcher[]): Promise<string | undefined> => {
        const [seen] = await source.observe([asked("**", { probes })], { baseline });
        return seen === undefined
          ? undefined
          : factsOf(seen).replaceAll(/"findings":\[[^\]]*\],/g, "");
      };
      const first = await look();
      expect(await look()).toBe(first);
      expect(await look(contains("paid"))).toBe(first);
    },
  ],
  [
    "knows nothing of the run without a world before",
    async (world, source) => {
      await world.run(...RUN);
      const [seen] = await source.observe([asked("**")]);
      expect(seen?.payload).toMatchObject({ attribution: { method: "none" } });
      expect(seen?.acquisition).not.toBe("complete");
    },
  ],
  [
    "names itself and its limits, and no address",
    async (_world, source) => {
      const [seen] = await source.observe([asked("**")]);
      expect(seen?.source).toEqual(source.identifier());
      expect(JSON.stringify(seen)).not.toMatch(/127\.0\.0\.1|upheld-sql-contract|postgres:\/\//);
    },
  ],
  [
    "gives evidence of a world that cannot be reached",
    async (world) => {
      await using source = world.unreachable();
      const [seen] = await source.observe([asked("**")]);
      expect(seen?.acquisition).toMatch(/^(unavailable|error)$/);
      expect(seen === undefined ? [] : [urisOf(seen), gapsOf(seen.payload).length > 0]).toEqual([
        [],
        true,
      ]);
    },
  ],
  [
    "refuses another's root, a pattern that leaves the root, and another's baseline",
    async (world, source) => {
      await using other = world.source();
      await using baseline = await other.baseline();
      for (const [request, options] of [
        [{ scorable: { ...asked("**").scorable, uri: "other:/**" } }, {}],
        [asked("../x"), {}],
        [asked("**"), { baseline }],
      ] as const)
        expect(await reasonOf(source.observe([request], options))).toMatchObject({
          code: expect.stringMatching(/_invalid$/),
        });
    },
  ],
  [
    "rejects with the signal's reason",
    async (_world, source) => {
      const reason = new Error("given up");
      const signal = AbortSignal.abort(reason);
      expect(await reasonOf(source.baseline({ signal }))).toBe(reason);
      expect(await reasonOf(source.observe([asked("**")], { signal }))).toBe(reason);
    },
  ],
  [
    "meets maxRows exactly without a gap, counts what is beyond it, and refuses -1",
    async (world) => {
      for (const [maxRows, shown, gaps] of [
        [2, 2, 0],
        [1, 1, 1],
      ] as const) {
        await using source = world.source({ limits: { maxRows } });
        await using baseline = await source.baseline();
        const id = String(100 + maxRows);
        await world.run(`INSERT INTO notes VALUES (${id}, 'a'), (${id}0, 'b')`);
        const [seen] = await source.observe([asked("**")], { baseline });
        if (seen?.payload.kind !== "surface") throw new Error("no surface was observed");
        const { entries, coverage } = seen.payload;
        expect([entries.length, coverage.total, coverage.gaps.length]).toEqual([shown, 2, gaps]);
      }
      expect(() => world.source({ limits: { maxRows: -1 } })).toThrow(/maxRows/);
    },
  ],
];

for (const [engine, make] of [
  ["SQLite", sqliteWorld],
  ["Postgres", postgresWorld],
] as const)
  describe(`a source of ${engine}`, () => {
    test.for(DUTIES)("%s", { timeout: 60_000 }, async ([, duty], context) => {
      context.skip(engine === "Postgres" && postgresMissing !== undefined, postgresMissing);
      await using world = await make();
      await world.run(...TABLES);
      await using source = world.source();
      await duty(world, source);
    });
  });
