import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NEEDLES } from "./build-tree.mjs";
import { run } from "./trees.mjs";
import { expectVerdict, limits, upheld, upheldMissing } from "./upheld.mjs";

const baseline = (root, state) =>
  upheld("baseline", "--root", `workspace=${root}`, "--save", state);
const observe = (state, expectations) => [
  ...upheld("observe", "--baseline", state, "--expect", expectations, "--json"),
  ...limits({
    maxFiles: 200_000,
    maxListedEntries: 300_000,
    maxReadBytes: 2_000_000_000,
    "baseline.maxFiles": 300_000,
    "baseline.maxReadBytes": 2_000_000_000,
  }),
];

const SHARES = {
  tenth: "text in 1 of 10 files",
  all: "text in every file",
  none: "text in no file",
};

/**
 * Yields one case for each share of files that hold the text. The baseline is taken while the root is
 * empty, so all files are written since: each is a candidate, and no writing is timed on either side.
 */
export async function* observedCases({ trees, files }, peer) {
  const tree = trees.tree(files);
  const root = trees.fresh("observed");
  const state = join(trees.fresh("observed-state"), "state");
  if (!upheldMissing) run(baseline(root, state));
  renameSync(tree, join(root, "tree"));
  try {
    for (const [share, name] of Object.entries(SHARES)) {
      const expectations = join(trees.folder, `expect-${share}.json`);
      const wanted = share === "none" ? "refuted" : "upheld";
      writeFileSync(expectations, JSON.stringify(expectation(NEEDLES[share], wanted)));
      const hits = { all: files, tenth: Math.floor((files + 6) / 10), none: 0 }[share];
      yield {
        name,
        files,
        first: {
          name: "upheld observe",
          command: observe(state, expectations),
          missing: upheldMissing,
          expect: (stdout) => expectVerdict(stdout, wanted),
        },
        second: peer({ root, needle: NEEDLES[share], hits, wanted, files }),
      };
    }
  } finally {
    renameSync(join(root, "tree"), tree);
  }
}

function expectation(value, expect) {
  const condition = {
    kind: "content_written",
    uri: "workspace:/**",
    match: "glob",
    matcher: { kind: "contains", value },
  };
  return { objective: "Find the text", subGoals: [{ name: "holds-text", expect, condition }] };
}
