import { undoChanges } from "../trees.mjs";
import { bench, expectDelta, limits, upheld, upheldMissing } from "../upheld.mjs";

const measured = (baselineBytes) => [
  ...upheld("run", "--root", "workspace=.", "--json"),
  ...limits({
    "baseline.maxFiles": 2_000_000,
    "baseline.maxDigestBytes": baselineBytes,
  }),
  "--",
  process.execPath,
  bench("change-tree.mjs"),
  ".",
];
const digests = measured(10_000_000_000);
// A baseline that may read no file is one by metadata.
const metadata = measured(1);

export const row = {
  id: "e",
  title: "baseline and delta, peak memory",
  aim: { peakMbAtMost: 400 },
  missing: upheldMissing,
  mostPairs: 2,
  async *cases({ trees, largeFiles }) {
    const root = trees.tree(largeFiles);
    const side = (name, command) => ({
      name,
      command,
      cwd: root,
      expect: (stdout) =>
        expectDelta(stdout, { created: 20, modified: 50, deleted: 20, moved: 10 }),
      reset: () => undoChanges(root),
    });
    yield {
      name: "digests against metadata",
      files: largeFiles,
      first: side("digests", digests),
      second: side("metadata", metadata),
    };
  },
};
