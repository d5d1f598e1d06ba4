import { postgresMissing, startPostgres } from "../postgres.mjs";
import { run } from "../trees.mjs";
import {
  bench,
  countDiffLines,
  expectDelta,
  expectEqual,
  upheld,
  upheldMissing,
} from "../upheld.mjs";

// Every change is undone by the statements that stand beside it.
const CHANGES = [
  [
    "UPDATE orders SET status = 'paid' WHERE id IN (SELECT g * 20000 + 1 FROM generate_series(0, 49) g)",
    "UPDATE orders SET status = 'new' WHERE id IN (SELECT g * 20000 + 1 FROM generate_series(0, 49) g)",
  ],
  [
    "DELETE FROM orders WHERE id BETWEEN 500 AND 524",
    "INSERT INTO orders SELECT g, 'new', g % 97, g / 7.0, repeat(md5(g::text), 2) FROM generate_series(500, 524) g",
  ],
  [
    "INSERT INTO orders SELECT g, 'made', 1, 1, '' FROM generate_series(10000001, 10000025) g",
    "DELETE FROM orders WHERE id > 10000000",
  ],
];

export const row = {
  id: "f",
  title: "delta of a table, 100 changes",
  aim: { ratioAtMost: 0.2 },
  missing: postgresMissing,
  async *cases({ trees, largeFiles: rows }) {
    const server = await startPostgres(trees.fresh("postgres"));
    try {
      await server.query(
        "CREATE TABLE orders (id int PRIMARY KEY, status text, n int, price numeric(14,4), note text)",
        `INSERT INTO orders SELECT g, 'new', g % 97, g / 7.0, repeat(md5(g::text), 2) FROM generate_series(1, ${rows}) g`,
        "VACUUM ANALYZE orders",
      );
      const changes = ["psql", "-qX", server.url, ...CHANGES.flatMap(([change]) => ["-c", change])];
      const undo = ["psql", "-qX", server.url, ...CHANGES.flatMap(([, back]) => ["-c", back])];
      const updated = Math.floor((rows - 1) / 20_000) + 1;
      const root = trees.fresh("empty");
      const shell = trees.fresh("rows-shell");
      yield {
        name: "a held snapshot",
        files: rows,
        first: {
          name: "upheld run --db",
          command: [
            ...upheld("run", "--root", "workspace=.", "--db", `shop=${server.url}`, "--json"),
            "--",
            ...changes,
          ],
          missing: upheldMissing,
          cwd: root,
          expect: (stdout) => expectDelta(stdout, { created: 25, modified: updated, deleted: 25 }),
          reset: () => run(undo),
        },
        second: {
          name: "COPY, COPY, diff",
          command: ["sh", bench("peers/rows.sh"), server.url, shell, ...changes],
          needs: ["sh", "psql", "diff"],
          cwd: root,
          expect: (stdout) =>
            expectEqual("lines of the diff", countDiffLines(stdout), {
              "<": 25 + updated,
              ">": 25 + updated,
            }),
          reset: () => run(undo),
        },
      };
    } finally {
      await server.stop();
    }
  },
};
