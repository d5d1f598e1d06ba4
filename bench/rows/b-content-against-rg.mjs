import { readFileSync } from "node:fs";
import { observedCases } from "../observed-tree.mjs";
import { bench, expectEqual } from "../upheld.mjs";

const searchAndHash = (root, needle) => ["sh", bench("peers/search-and-hash.sh"), root, needle];

export const row = {
  id: "b",
  title: "content_written over a glob",
  aim: { ratioAtMost: 2.5 },
  cases: (context) =>
    observedCases(context, ({ root, needle, hits }) => ({
      name: "rg -l -F, sha256sum of hits",
      command: searchAndHash(root, needle),
      needs: ["sh", "rg", "xargs", "sha256sum"],
      expect: (stdout) =>
        expectEqual("hits", readFileSync(stdout, "utf8").split("\n").length - 1, hits),
    })),
};
