import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { postgresMissing, startPostgres } from "../worlds/postgres-server.ts";
import { suitePlace, toldSuite } from "../worlds/suite-place.ts";

const LATE = 240_000;

const PG = pathToFileURL(createRequire(import.meta.url).resolve("pg")).href;

/** A program that runs SQL on the database in SHOP. */
const sql = (text: string): string =>
  `import pg from ${JSON.stringify(PG)};
const client = new pg.Client({ connectionString: process.env.SHOP });
await client.connect();
await client.query(${JSON.stringify(text)});
await client.end();
`;

describe("a database of a scenario's world", () => {
  test(
    "a check sees every row, changed or not; a condition sees what the run changed",
    async (context) => {
      context.skip(postgresMissing !== undefined, postgresMissing ?? "");
      await using server = await startPostgres();
      const { url: SHOP } = await server.database();
      using place = suitePlace({
        "setup.mjs": sql(
          "drop table if exists orders; create table orders (id int primary key, status text, note jsonb); insert into orders values (41, 'paid', null), (42, 'paid', '{\"a\": [1]}')",
        ),
        "agent.mjs": sql("update orders set status = 'refunded' where id = 42"),
        "scenarios/s/scenario.yaml": `world: { setup: [node, "{suite}/setup.mjs"], databases: { shop: "env:SHOP" } }
agent: { command: [node, "{suite}/agent.mjs"] }
subGoals:
  - rows
  - { name: refunded, condition: { kind: rows_changed, uri: "shop:/public/orders", where: { id: 42 }, after: { status: refunded } } }
  - { name: nothing-else, condition: { kind: changed_only, allow: ["shop:/public/orders?id=42"] } }
`,
        "scenarios/s/checks/rows.mjs": `export function check(world) {
  const seen = JSON.stringify(world.state("orders").toSorted((a, b) => a.id - b.id));
  const [change] = world.changes;
  if (change.before.status !== "paid" || change.after.status !== "refunded") return JSON.stringify(change);
  return seen === '[{"id":41,"status":"paid","note":null},{"id":42,"status":"refunded","note":{"a":[1]}}]' ? null : seen;
}
`,
      });
      // Twice: the setup makes the world anew.
      for (let time = 0; time < 2; time += 1) {
        const printed = await place.upheld(["test", "--json"], { SHOP });
        const [only] = toldSuite(printed).scenarios;
        expect(
          only?.subGoals.map(({ name, held }) => `${name} ${held}`),
          printed.stdout,
        ).toEqual(["rows true", "refunded true", "nothing-else true"]);
        expect(printed.code).toBe(0);
      }
    },
    LATE,
  );

  test(
    "one that is not there is the infrastructure's failure, told without its password",
    async () => {
      using place = suitePlace({
        "scenarios/s/scenario.yaml": `world: { databases: { shop: "env:SHOP" } }
agent: { command: ["true"] }
subGoals: [{ name: g, condition: { kind: rows_changed, uri: "shop:/public/orders" } }]
`,
      });
      const SHOP = "postgres://me:correct-horse-battery@127.0.0.1:1/shop";
      const printed = await place.upheld(["test", "--json"], { SHOP });
      const [only] = toldSuite(printed).scenarios;
      expect(only).toMatchObject({
        status: "errored",
        attempts: 2,
        failure: { domain: "infrastructure", code: "database_unavailable" },
      });
      expect(printed.code).toBe(5);
      expect(printed.stdout + printed.stderr).not.toContain("correct-horse-battery");
    },
    LATE,
  );
});
