import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../trees.mjs";
import { bench, expectDelta, expectMethod, runId, upheld, upheldMissing } from "../upheld.mjs";

const isolated = (expectations) => [
  ...upheld("run", "--isolate", "--root", "workspace=.", "--expect", expectations, "--json"),
  "--",
  process.execPath,
  bench("change-tree.mjs"),
  ".",
];
const discard = (id) => upheld("discard", id);

export const row = {
  id: "d",
  title: "run --isolate, 100 changes",
  aim: { ratioAtMost: 1.2 },
  missing: upheldMissing,
  async *cases({ trees, largeFiles }) {
    const expectations = join(trees.folder, "expect-isolated.json");
    const condition = { kind: "content_written", uri: "workspace:/**", match: "glob" };
    writeFileSync(
      expectations,
      JSON.stringify({ subGoals: [{ name: "something-written", condition }] }),
    );
    const side = (files) => ({
      name: `${files.toLocaleString("en")} files`,
      command: isolated(expectations),
      cwd: trees.tree(files),
      expect: (stdout) => {
        // A fallback to the baseline would make this another row.
        expectMethod(stdout, "exact");
        // In an overlay a renamed file is a copy, born anew: gone here and created there.
        expectDelta(stdout, { created: 30, modified: 50, deleted: 30, moved: 0 });
      },
      reset: (stdout) => run(discard(runId(stdout))),
    });
    yield {
      name: "large tree against small",
      files: largeFiles,
      first: side(largeFiles),
      second: side(1000),
    };
  },
};
