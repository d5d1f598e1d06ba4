import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probeIsolation } from "../../src/run/isolation/probe.ts";
import { Workplace } from "./upheld.ts";

const SCRIPT = "echo new > a; rm b; mkdir -p c && echo deep > c/d";

async function missing(place: Workplace): Promise<string | undefined> {
  const probe = await probeIsolation([{ name: "workspace", dir: place.root }], place.state);
  return probe.ok ? undefined : probe.reason;
}

interface Report {
  readonly run: { readonly runId: string };
  readonly delta: readonly { readonly uri: string; readonly change: string }[];
}

async function isolated(place: Workplace): Promise<Report> {
  const args = ["run", "--isolate", "--attribution", "exact", "--json", "--", "sh", "-c", SCRIPT];
  const { stdout, stderr, code } = await place.upheld(args);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Report;
}

test("nothing is written until it is applied", async (context) => {
  using place = new Workplace({ b: "old" });
  const reason = await missing(place);
  context.skip(reason !== undefined, reason);
  const { run, delta } = await isolated(place);
  expect(delta.map(({ uri, change }) => `${change} ${uri}`)).toEqual([
    "created workspace:/a",
    "deleted workspace:/b",
    "created workspace:/c",
    "created workspace:/c/d",
  ]);
  expect(readdirSync(place.root)).toEqual(["b"]);
  const applied = await place.upheld(["apply", run.runId]);
  expect(applied.stdout).toMatch(/applied {4}\d changes to workspace:/);
  expect(readFileSync(join(place.root, "c/d"), "utf8")).toBe("deep\n");
  expect(existsSync(join(place.root, "b"))).toBe(false);
  expect((await place.upheld(["apply", run.runId])).code).toBe(64);
  expect(readdirSync(join(place.state, "isolation"))).toEqual([]);
});

test("apply refuses where the root changed meanwhile, and writes nothing", async (context) => {
  using place = new Workplace({ b: "old" });
  const reason = await missing(place);
  context.skip(reason !== undefined, reason);
  const { run } = await isolated(place);
  writeFileSync(join(place.root, "b"), "someone else's");
  const { code, stderr } = await place.upheld(["apply", run.runId]);
  expect(stderr).toMatch(
    /nothing was written, because workspace:\/ changed.*\n +workspace:\/b changed/,
  );
  expect(code).toBe(5);
  expect(readdirSync(place.root)).toEqual(["b"]);
  expect((await place.upheld(["discard", run.runId])).code).toBe(0);
  expect((await place.upheld(["discard", run.runId])).code).toBe(64);
});

test("apply of several roots writes all of them or none", async (context) => {
  using place = new Workplace({ b: "old" });
  const reason = await missing(place);
  context.skip(reason !== undefined, reason);
  place.write("other/c", "old");
  const other = join(place.path, "other");
  const roots = ["--root", "workspace=.", "--root", `other=${other}`];
  const script = `echo new > b; echo new > ${other}/c`;
  const args = ["run", "--isolate", ...roots, "--json", "--", "sh", "-c", script];
  const ran = await place.upheld(args);
  const { run } = JSON.parse(ran.stdout) as Report;
  writeFileSync(join(other, "c"), "someone else's");
  const { code, stderr } = await place.upheld(["apply", run.runId]);
  expect(code).toBe(5);
  expect(stderr).toContain("nothing was written, because other:/ changed");
  expect(readFileSync(join(place.root, "b"), "utf8")).toBe("old");
});

test("an absolute link that the agent makes is read as it saw it, not as the layers lie", async (context) => {
  using place = new Workplace({ "kept/old.txt": "sk-live" });
  const reason = await missing(place);
  context.skip(reason !== undefined, reason);
  const claims = place.write(
    "claims.json",
    JSON.stringify({
      subGoals: ["to-new", "to-outside"].map((name) => ({
        name,
        condition: {
          kind: "content_written",
          uri: `workspace:/${name}`,
          matcher: { kind: "contains", value: "key" },
        },
      })),
    }),
  );
  const script = `echo key > new.txt; ln -s "$PWD/new.txt" to-new; ln -s ${place.path}/x to-outside`;
  const args = ["run", "--isolate", "--attribution", "exact", "--expect", claims, "--json"];
  const { stdout, stderr } = await place.upheld([...args, "--", "sh", "-c", script]);
  const { subGoals } = JSON.parse(stdout) as { subGoals: readonly object[] };
  expect(subGoals, stderr).toMatchObject([
    { verdict: { value: "upheld" } },
    { verdict: { value: "undetermined", gaps: [{ code: "link_outside_root" }] } },
  ]);
});

test("where an overlay cannot be had, the baseline does instead, and the evidence says why", async () => {
  using place = new Workplace({ b: "old" });
  const bundle = join(place.path, "run.upheld");
  // Two overlays cannot lie over each other.
  mkdirSync(join(place.root, "inner"));
  const roots = ["--root", "workspace=.", "--root", "inner=inner"];
  const args = ["run", "--isolate", ...roots, "--save", bundle, "--", "sh", "-c", "echo new > a"];
  const { stdout, stderr, code } = await place.upheld(args);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(
    /isolate {4}--isolate cannot be had here: .+; the baseline is used instead/,
  );
  expect(stdout).toContain("(baseline)");
  expect(stdout).toContain("attribution: --isolate cannot be had here");
  expect((await place.upheld(["verify", bundle, "--json"])).stdout).toContain("cannot be had here");
});

test("with nothing but exact wished, no overlay is an error before the agent starts", async () => {
  using place = new Workplace();
  mkdirSync(join(place.root, "inner"));
  const roots = ["--root", "workspace=.", "--root", "inner=inner"];
  const args = ["run", "--isolate", "--attribution", "exact", ...roots, "--", "touch", "started"];
  const { code, stderr } = await place.upheld(args);
  expect(stderr).toMatch(/--isolate cannot be had here/);
  expect(code).toBe(5);
  expect(existsSync(join(place.root, "started"))).toBe(false);
});
