// All that the bench knows of the command line under test and of what it prints.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

export const upheldMissing = existsSync(MAIN)
  ? undefined
  : "dist/cli/main.js is missing: npm run build";

/** `limits` are raised so that nothing is left out: a tool that looks at less is not faster. */
export function upheld(command, ...parameters) {
  return [process.execPath, MAIN, command, ...parameters];
}

export function limits(values) {
  return Object.entries(values).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
}

export function bench(file) {
  return fileURLToPath(new URL(file, import.meta.url));
}

function readRun(stdout) {
  return JSON.parse(readFileSync(stdout, "utf8"));
}

/** Throws unless the run reports exactly these changes and left nothing out. */
export function expectDelta(stdout, wanted) {
  const { delta, notSeen } = readRun(stdout);
  const counts = Object.fromEntries(
    Object.keys(wanted).map((change) => [
      change,
      delta.filter((entry) => entry.change === change).length,
    ]),
  );
  expectEqual("changes", counts, wanted);
  expectEqual("gaps", notSeen, []);
}

/** Throws unless the one sub-goal has this verdict and nothing was left out. */
export function expectVerdict(stdout, wanted) {
  const { subGoals, notSeen } = readRun(stdout);
  expectEqual(
    "verdicts",
    subGoals.map((subGoal) => subGoal.verdict.value),
    [wanted],
  );
  expectEqual("gaps", notSeen, []);
}

/** Throws unless the delta was taken with this attribution method. */
export function expectMethod(stdout, wanted) {
  const [subGoal] = readRun(stdout).subGoals;
  expectEqual("attribution method", subGoal.method, wanted);
}

/** Lines of a diff on each side. */
export function countDiffLines(stdout) {
  const lines = readFileSync(stdout, "utf8").split("\n");
  return Object.fromEntries(
    ["<", ">"].map((side) => [side, lines.filter((line) => line.startsWith(side)).length]),
  );
}

/** The id by which `upheld discard` knows the run. */
export function runId(stdout) {
  const { run } = readRun(stdout);
  return typeof run === "string" ? run : run.runId;
}

export function expectEqual(what, seen, wanted) {
  const [seenText, wantedText] = [seen, wanted].map((value) => JSON.stringify(value));
  if (seenText !== wantedText)
    throw new Error(`wrong ${what}: wanted ${wantedText}, got ${seenText.slice(0, 600)}`);
}
