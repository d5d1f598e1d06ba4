import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RunId } from "../../src/core/ids.ts";
import { isSameProcess, processMark } from "../../src/store/process-mark.ts";
import {
  beginRun,
  endRun,
  existingStateFolders,
  liesOutside,
  openStateFolder,
  stateCandidates,
  sweepRuns,
  type StateFolder,
  type Sweepers,
} from "../../src/store/state-folder.ts";

class Scratch implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "upheld-state-test-")));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const RUN = RunId.parse("20261130-184815-abcdef");

/** Sweepers that note what they are asked. */
function noting(): { readonly asked: string[]; readonly sweepers: Sweepers } {
  const asked: string[] = [];
  return {
    asked,
    sweepers: {
      agents: (runId) => Promise.resolve(asked.push(`agents ${runId}`) && 2),
      isolation: (_, runId) => Promise.resolve(asked.push(`isolation ${runId}`) > 0),
      temporary: (directory) => Promise.resolve(asked.push(`temporary ${directory}`) && 1),
    },
  };
}

/** A run whose process is gone: its number is ours, its mark is not. */
function leaveBehind(folder: StateFolder, runId: string, mark: string): void {
  const at = join(folder.path, "runs", runId);
  mkdirSync(at, { recursive: true });
  const owner = { pid: process.pid, mark };
  const record = { schemaVersion: 1, runId, owner, startedAt: "now", writesTo: ["/some/where"] };
  writeFileSync(join(at, "run.json"), JSON.stringify(record));
}

describe("where state lies", () => {
  test.each([
    ["UPHELD_STATE_DIR alone", { UPHELD_STATE_DIR: "/a/b", XDG_STATE_HOME: "/c" }, ["/a/b"]],
    ["below XDG_STATE_HOME", { XDG_STATE_HOME: "/c" }, ["/c/upheld", expect.any(String)]],
    [
      "below the home directory",
      {},
      [expect.stringMatching(/\.local\/state\/upheld$/), expect.any(String)],
    ],
    [
      "an empty variable is none",
      { UPHELD_STATE_DIR: "", XDG_STATE_HOME: "" },
      [expect.stringMatching(/\.local\/state\/upheld$/), expect.any(String)],
    ],
  ])("%s", (_, environment, wanted) => {
    expect(stateCandidates(environment)).toEqual(wanted);
  });

  test("a relative path is refused", () => {
    expect(() => stateCandidates({ UPHELD_STATE_DIR: "state" })).toThrow(
      /must be an absolute path/,
    );
  });

  test("it is made with mode 0700, outside of every root", () => {
    using scratch = new Scratch();
    const [inside, outside] = [
      join(scratch.path, "root/state"),
      join(scratch.path, "elsewhere/state"),
    ];
    const folder = openStateFolder([inside, outside], [join(scratch.path, "root")]);
    expect(folder.path).toBe(outside);
    expect(statSync(outside).mode & 0o777).toBe(0o700);
    expect(existsSync(inside)).toBe(false);
  });

  test("a link into a root is inside of it", () => {
    using scratch = new Scratch();
    mkdirSync(join(scratch.path, "root"));
    symlinkSync(join(scratch.path, "root"), join(scratch.path, "link"));
    const candidates = [join(scratch.path, "link/state")];
    expect(() => openStateFolder(candidates, [join(scratch.path, "root")])).toThrow(
      /UPHELD_STATE_DIR/,
    );
    expect(liesOutside(join(scratch.path, "rootless"), [join(scratch.path, "root")])).toBe(true);
  });

  test("one that others can open is refused", () => {
    using scratch = new Scratch();
    const path = join(scratch.path, "state");
    mkdirSync(path);
    chmodSync(path, 0o755);
    expect(() => openStateFolder([path], [])).toThrow(/expected mode 0700/);
    expect(existingStateFolders([path])).toEqual([]);
  });
});

describe("a sweep", () => {
  test("leaves the runs of living processes alone, and those that ended leave nothing", async () => {
    using scratch = new Scratch();
    const folder = openStateFolder([join(scratch.path, "state")], []);
    beginRun(folder, { runId: RUN, startedAt: "now" });
    const { asked, sweepers } = noting();
    expect((await sweepRuns(folder, sweepers)).runs).toEqual([]);
    expect(asked).toEqual([]);
    endRun(folder, RUN);
    expect(readdirSync(join(folder.path, "runs"))).toEqual([]);
  });

  test("clears up after a run whose process is gone, and counts it", async () => {
    using scratch = new Scratch();
    const folder = openStateFolder([join(scratch.path, "state")], []);
    leaveBehind(folder, RUN, "another boot 1");
    const { asked, sweepers } = noting();
    expect(await sweepRuns(folder, sweepers)).toEqual({
      runs: [RUN],
      agents: 2,
      isolations: 1,
      temporaryFiles: 1,
    });
    expect(asked).toEqual([`agents ${RUN}`, `isolation ${RUN}`, "temporary /some/where"]);
    expect((await sweepRuns(folder, sweepers)).runs).toEqual([]);
  });

  test("a folder without its record is left alone while it may be in the making", async () => {
    using scratch = new Scratch();
    const folder = openStateFolder([join(scratch.path, "state")], []);
    const at = join(folder.path, "runs", RUN);
    mkdirSync(at);
    const { sweepers } = noting();
    expect((await sweepRuns(folder, sweepers)).runs).toEqual([]);
    utimesSync(at, 0, 0);
    expect((await sweepRuns(folder, sweepers)).runs).toEqual([RUN]);
  });

  test("what is no run's folder is not touched", async () => {
    using scratch = new Scratch();
    const folder = openStateFolder([join(scratch.path, "state")], []);
    writeFileSync(join(folder.path, "runs", "-odd name"), "mine");
    const { asked, sweepers } = noting();
    await sweepRuns(folder, sweepers);
    expect(asked).toEqual([]);
  });
});

test("a process is told apart from a later one with its number", () => {
  expect(isSameProcess(process.pid, processMark(process.pid))).toBe(true);
  expect(isSameProcess(process.pid, "another boot 1")).toBe(process.platform === "win32");
  expect(isSameProcess(4_194_304, "")).toBe(false);
});
