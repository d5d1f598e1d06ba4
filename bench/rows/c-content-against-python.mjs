import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { observedCases } from "../observed-tree.mjs";
import { bench, expectEqual } from "../upheld.mjs";

const python = (root, needle) => [
  interpreter(),
  "-I",
  "-S",
  bench("peers/content-written.py"),
  root,
  needle,
];

// Version managers put a slow script before the interpreter, and -S keeps installed packages out of its start.
function interpreter() {
  const { stdout } = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], {
    encoding: "utf8",
  });
  return stdout?.trim() || "python3";
}

export const row = {
  id: "c",
  title: "content_written over a glob",
  aim: { ratioAtMost: 0.8 },
  cases: (context) =>
    observedCases(context, ({ root, needle, hits, wanted, files }) => ({
      name: "Python, same work",
      command: python(root, needle),
      needs: ["python3"],
      expect: (stdout) => expectAnswer(stdout, { verdict: wanted, files, hits, gaps: 0 }),
    })),
};

function expectAnswer(stdout, wanted) {
  const { verdict, entries, gaps } = JSON.parse(readFileSync(stdout, "utf8"));
  const hits = entries.filter((entry) => entry.holdsText).length;
  expectEqual("answer", { verdict, files: entries.length, hits, gaps: gaps.length }, wanted);
}
