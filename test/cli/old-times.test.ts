import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asOrdinaryUser, ordinaryUserMissing, scratchFolder } from "../worlds/ordinary-user.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");

/** Beside the root: a file, a folder, archives and a repository, all of the year 2001. */
const OUTSIDE = `
set -e
mkdir -p outside/folder root/data
printf key > outside/old.txt
printf key > outside/folder/old.txt
touch -d 2001-01-01T00:00:00Z outside/old.txt outside/folder/old.txt outside/folder
printf key > root/old.txt
touch -d 2001-01-01T00:00:00Z root/old.txt
printf 'before' > root/data/there.txt
touch -d 2001-01-01T00:00:00Z root/data/there.txt
tar -C outside -cf outside/old.tar old.txt
(cd outside && zip -q -X old.zip old.txt)
git -C root init -q
printf key > root/tracked.txt
git -C root add tracked.txt
git -C root -c user.name=a -c user.email=a@b commit -qm one
git -C root rm -q --cached tracked.txt
rm root/tracked.txt
`;

/** Ways in which a file comes into \`data\` during the run with a time of long ago. */
const WAYS: readonly {
  readonly way: string;
  readonly sh: string;
  readonly needs?: string;
  readonly notUnder?: string;
}[] = [
  { way: "cp -p", sh: "cp -p ../outside/old.txt data/x.txt" },
  { way: "mv from outside", sh: "mv ../outside/old.txt data/x.txt" },
  { way: "a moved-in directory", sh: "mv ../outside/folder data/folder" },
  { way: "tar -x", sh: "tar -C data -xf ../outside/old.tar" },
  { way: "unzip", sh: "unzip -q ../outside/old.zip -d data", needs: "unzip" },
  { way: "rsync -t", sh: "rsync -t ../outside/old.txt data/x.txt", needs: "rsync" },
  // An overlay is a file system of its own: a link from outside answers EXDEV there, one from inside does not.
  { way: "ln", sh: "ln ../outside/old.txt data/x.txt", notUnder: "exact" },
  { way: "ln of a file inside", sh: "ln old.txt data/x.txt" },
  {
    way: "overwrite, then touch -d",
    sh: "printf key > data/there.txt; touch -d 2001-01-01T00:00:00Z data/there.txt",
  },
  {
    way: "touch -r",
    sh: "printf key > data/x.txt; touch -r ../outside/old.txt data/x.txt",
  },
  {
    way: "git checkout",
    sh: "git checkout -q HEAD -- tracked.txt; mv tracked.txt data/; touch -r ../outside/old.txt data/tracked.txt",
    needs: "git",
  },
];

const CONDITION = {
  kind: "content_written",
  uri: "workspace:/data/**",
  match: "glob",
  matcher: { kind: "contains", value: "key" },
};

interface Outcome {
  readonly subGoals: readonly {
    readonly method: string;
    readonly rationale: string;
    readonly verdict: {
      readonly value: string;
      readonly witnesses?: readonly { readonly uri: string; readonly change?: string }[];
      readonly gaps?: readonly { readonly code: string }[];
    };
  }[];
}

function decide(agent: string, extra: readonly string[]): Outcome["subGoals"][number] {
  using scratch = scratchFolder();
  const [sh = "", ...args] = asOrdinaryUser(["sh", "-c", OUTSIDE]);
  execFileSync(sh, args, { cwd: scratch.path, env: { ...process.env, HOME: scratch.path } });
  const claims = join(scratch.path, "claims.json");
  writeFileSync(claims, JSON.stringify({ subGoals: [{ name: "question", condition: CONDITION }] }));
  const upheld = [process.execPath, MAIN, "run", "--expect", claims, "--json", ...extra];
  const [file = "", ...rest] = asOrdinaryUser([...upheld, "--", "sh", "-c", agent]);
  const env = { ...process.env, UPHELD_STATE_DIR: join(scratch.path, "state"), HOME: scratch.path };
  const done = spawnSync(file, rest, { cwd: join(scratch.path, "root"), encoding: "utf8", env });
  expect(done.stdout, done.stderr).not.toBe("");
  const [goal] = (JSON.parse(done.stdout) as Outcome).subGoals;
  if (goal === undefined) throw new Error(`no sub-goal was decided: ${done.stdout}`);
  return goal;
}

function programMissing(program: string | undefined): string | undefined {
  if (ordinaryUserMissing !== undefined || program === undefined) return ordinaryUserMissing;
  return spawnSync(program, ["--version"]).error === undefined
    ? undefined
    : `${program} is not installed`;
}

for (const { method, options } of [
  { method: "baseline", options: [] },
  { method: "exact", options: ["--isolate"] },
]) {
  describe(`under ${method}, what came with an old time counts`, () => {
    for (const { way, sh, needs, notUnder } of WAYS) {
      if (notUnder === method) continue;
      test(`the way of ${way}`, { timeout: 60_000 }, (context) => {
        const missing = programMissing(needs) ?? programMissing("zip");
        context.skip(missing !== undefined, missing);
        const goal = decide(sh, options);
        expect(goal.verdict.value, goal.rationale).toBe("upheld");
        expect(["created", "modified", "moved"]).toContain(goal.verdict.witnesses?.[0]?.change);
        expect(goal.method).toMatch(new RegExp(`^${method}`));
      });
    }
  });
}

describe("under window, what came with an old time is never refuted", () => {
  for (const { way, sh, needs } of WAYS) {
    test(`the way of ${way}`, { timeout: 60_000 }, (context) => {
      const missing = programMissing(needs) ?? programMissing("zip");
      context.skip(missing !== undefined, missing);
      const goal = decide(sh, ["--attribution", "window"]);
      expect(goal.verdict.value, goal.rationale).toBe("undetermined");
      expect(goal.verdict.gaps?.map(({ code }) => code)).toContain("baseline_missing");
    });
  }

  test("control: a file born in the window is upheld", { timeout: 60_000 }, (context) => {
    context.skip(programMissing("zip") !== undefined, programMissing("zip"));
    const goal = decide("printf key > data/new.txt", ["--attribution", "window"]);
    expect(goal.verdict.value, goal.rationale).toBe("upheld");
  });

  test("control: full coverage without a match is refuted", { timeout: 60_000 }, (context) => {
    context.skip(programMissing("zip") !== undefined, programMissing("zip"));
    const goal = decide("printf other > data/new.txt", ["--attribution", "window"]);
    expect(goal.verdict.value, goal.rationale).toBe("refuted");
  });
});
