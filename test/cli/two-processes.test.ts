import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Workplace, written } from "./upheld.ts";

interface Told {
  readonly delta: readonly { readonly uri: string; readonly change: string }[];
  readonly subGoals: readonly { readonly method: string; readonly held: boolean | null }[];
  readonly run: unknown;
}

const goals = (condition: object): string =>
  JSON.stringify({ subGoals: [{ name: "x", condition }] });

const told = (stdout: string): Told => JSON.parse(stdout) as Told;

test("a baseline now, an observation later, in another process", async () => {
  using place = new Workplace({ "kept.txt": "kept", "gone.txt": "gone", "old/a": "1" });
  const claims = place.write("claims.json", written("key"));
  const before = join(place.path, "before");
  expect((await place.upheld(["baseline", "--save", before])).code).toBe(0);
  rmSync(join(place.root, "gone.txt"));
  renameSync(join(place.root, "old/a"), join(place.root, "old/b"));
  writeFileSync(join(place.root, "new.txt"), "key");
  const args = ["observe", "--baseline", before, "--expect", claims, "--json"];
  const { stdout, code } = await place.upheld(args);
  expect(code).toBe(0);
  const report = told(stdout);
  expect(report.run).not.toHaveProperty("agent");
  expect(report.delta.map(({ uri, change }) => `${change} ${uri}`)).toEqual([
    "deleted workspace:/gone.txt",
    "created workspace:/new.txt",
    "moved workspace:/old/b",
  ]);
  expect(report.subGoals).toMatchObject([{ method: "baseline", held: true }]);
  // The baseline can be asked more than once.
  expect(told((await place.upheld(args)).stdout).delta).toEqual(report.delta);
});

test("the root may lie elsewhere when it is observed", async () => {
  using place = new Workplace({ a: "1" });
  const before = join(place.path, "before");
  await place.upheld(["baseline", "--save", before]);
  renameSync(place.root, join(place.path, "moved"));
  mkdirSync(place.root);
  appendFileSync(join(place.path, "moved/a"), "2");
  const root = `workspace=${join(place.path, "moved")}`;
  const args = ["observe", "--baseline", before, "--root", root, "--json"];
  const report = told((await place.upheld(args)).stdout);
  expect(report.delta).toMatchObject([{ uri: "workspace:/a", change: "modified" }]);
  const unknown = await place.upheld(["observe", "--baseline", before, "--root", "home=."]);
  expect(unknown.stderr).toContain("the baseline holds no such root (it holds workspace)");
});

test.each([
  [
    "a foreign folder is not taken over",
    (folder: string) => writeFileSync(join(folder, "mine"), "x"),
    5,
  ],
  ["an empty folder is", () => undefined, 0],
])("%s", async (_, fill, code) => {
  using place = new Workplace();
  const folder = join(place.path, "before");
  mkdirSync(folder);
  fill(folder);
  expect((await place.upheld(["baseline", "--save", folder])).code).toBe(code);
});

test("a damaged baseline is refused, not half used", async () => {
  using place = new Workplace({ a: "1" });
  const before = join(place.path, "before");
  await place.upheld(["baseline", "--save", before]);
  const parts = readdirSync(join(before, "roots/workspace"));
  expect(parts).toHaveLength(1);
  appendFileSync(join(before, "roots/workspace", parts[0] ?? ""), "x");
  const { code, stderr } = await place.upheld(["observe", "--baseline", before]);
  expect(stderr).toMatch(/cannot be used/);
  expect(code).toBe(5);
});

test("one stored observation answers another question of the same place, and refuses the rest", async () => {
  using place = new Workplace();
  const bundle = join(place.path, "run.upheld");
  await place.upheld(["run", "--save", bundle, "--", "sh", "-c", "echo key > a"]);
  const { openBundle } = await import("../../src/store/open-bundle.ts");
  const { readRunRecord } = await import("../../src/evidence/record/read-run.ts");
  const { verifyBundle } = await import("../../src/evidence/verify.ts");
  const { nodeHasher } = await import("../../src/store/hasher.ts");
  await using reader = await openBundle(bundle);
  const answer = await verifyBundle(reader, { hasher: nodeHasher });
  if (!answer.ok) throw new Error(answer.reason);
  const { deltas } = await readRunRecord(reader, answer.statement, { hasher: nodeHasher });
  const file = place.write("observation.json", JSON.stringify(deltas[0]));
  const claims = place.write("claims.json", written("key"));
  const scored = await place.upheld(["score", file, "--expect", claims, "--json"]);
  expect(scored.code).toBe(0);
  expect(told(scored.stdout).run).toBeNull();
  const refused = [
    { kind: "changed_only", allow: ["/a"] },
    { kind: "content_removed", uri: "home:/a" },
  ];
  for (const condition of refused) {
    const other = place.write("other.json", goals(condition));
    const { code, stdout } = await place.upheld(["score", file, "--expect", other, "--json"]);
    expect(code).toBe(64);
    expect(told(stdout)).toMatchObject({ error: { code: "not_replayable" } });
  }
});

test("two roots are told apart, and a claim can name either", async () => {
  using place = new Workplace();
  mkdirSync(join(place.path, "home"));
  const claims = place.write(
    "claims.json",
    JSON.stringify({
      subGoals: [
        { name: "a", condition: { kind: "content_written", uri: "home:/x" } },
        { name: "b", condition: { kind: "changed_only", allow: ["home:/**"] } },
      ],
    }),
  );
  const roots = ["--root", "workspace=.", "--root", "home=../home"];
  const args = ["run", "--json", ...roots, "--expect", claims, "--"];
  const { stdout, code } = await place.upheld([
    ...args,
    "sh",
    "-c",
    "echo 1 > ../home/x; echo 1 > y",
  ]);
  expect(code).toBe(1);
  expect(told(stdout).delta.map(({ uri }) => uri)).toEqual(["workspace:/y", "home:/x"]);
  expect(told(stdout).subGoals.map(({ held }) => held)).toEqual([true, false]);
  expect(existsSync(join(place.root, "y"))).toBe(true);
});
