import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { ended, MAIN, Workplace, written } from "./upheld.ts";

// A process that may open few files at a time: faults of the machine are no findings about the run.

const isPosix = process.platform !== "win32";

/** 60 directories in each other's neighbourhood, more than may be held open. */
function wide(): Workplace {
  const files = Array.from({ length: 60 }, (_, at) => [`d${at}/e/f/x`, "old"] as const);
  return new Workplace(Object.fromEntries(files));
}

function within(place: Workplace, handles: number, args: readonly string[]) {
  const command = `ulimit -n ${handles} && exec "$@"`;
  return ended(
    spawn("sh", ["-c", command, "sh", process.execPath, MAIN, ...args], {
      cwd: place.root,
      env: place.environment,
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

test.runIf(isPosix)(
  "where few files may be open at a time, everything is seen all the same",
  async () => {
    using place = wide();
    const claims = place.write("claims.json", written("key"));
    const args = ["run", "--expect", claims, "--json", "--", "sh", "-c", "echo key > d59/e/f/x"];
    const { stdout, stderr, code } = await within(place, 64, args);
    expect(code, stderr).toBe(0);
    const report = JSON.parse(stdout) as { delta: readonly object[]; notSeen: readonly object[] };
    expect(report.notSeen).toEqual([]);
    expect(report.delta).toMatchObject([{ uri: "workspace:/d59/e/f/x", change: "modified" }]);
  },
);

test.runIf(isPosix)(
  "where too few may be open to start, it says so and is no finding",
  async () => {
    using place = wide();
    const { stdout, stderr, code } = await within(place, 28, ["run", "--json", "--", "true"]);
    expect(code, stderr).toBe(5);
    expect(stderr).toContain("ulimit -n");
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: expect.any(String) } });
  },
);
