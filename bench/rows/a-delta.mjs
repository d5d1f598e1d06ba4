import {
  bench,
  countDiffLines,
  expectDelta,
  expectEqual,
  limits,
  upheld,
  upheldMissing,
} from "../upheld.mjs";
import { undoChanges } from "../trees.mjs";

const change = [process.execPath, bench("change-tree.mjs"), "."];

const ours = [
  ...upheld("run", "--root", "workspace=.", "--json"),
  ...limits({
    "baseline.maxFiles": 200_000,
    "baseline.maxReadBytes": 2_000_000_000,
  }),
  "--",
  ...change,
];
const shell = (scratch) => ["sh", bench("peers/delta.sh"), ".", scratch, ...change];

export const row = {
  id: "a",
  title: "delta of a tree, 100 changes",
  aim: { ratioAtMost: 0.7 },
  async *cases({ trees, files }) {
    const root = trees.tree(files);
    yield {
      name: "digests before and after",
      files,
      first: {
        name: "upheld run",
        command: ours,
        missing: upheldMissing,
        cwd: root,
        expect: (stdout) =>
          expectDelta(stdout, { created: 20, modified: 50, deleted: 20, moved: 10 }),
        reset: () => undoChanges(root),
      },
      second: {
        name: "find, sha256sum, diff",
        command: shell(trees.fresh("shell")),
        needs: ["sh", "find", "xargs", "sha256sum", "diff"],
        cwd: root,
        expect: (stdout) =>
          expectEqual("lines of the diff", countDiffLines(stdout), { "<": 80, ">": 80 }),
        reset: () => undoChanges(root),
      },
    };
  },
};
