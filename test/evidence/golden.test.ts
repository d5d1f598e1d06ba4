import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Digest } from "../../src/core/ids.ts";
import { verifyBundle } from "../../src/evidence/verify.ts";
import { nodeHasher } from "../../src/store/hasher.ts";
import { openBundle } from "../../src/store/open-bundle.ts";
import { contextOfObservations, replay } from "../../src/scorers/replay.ts";
import { readRunRecord } from "../../src/evidence/record/read-run.ts";
import { verifyTar } from "../support/sample-bundle.ts";

// Bundles that were sealed once. They are added to, never edited: each verifies for ever.
const golden = [
  {
    name: "bundle-1",
    digest: "sha256:d2e042ae022420b72e3962af89f38eed256c485ff5d18e0a1d6d95c807023ece",
  },
] as const;

const pathOf = (name: string): string =>
  fileURLToPath(new URL(`../golden/${name}`, import.meta.url));

test.each(golden)("$name, the tar file", async ({ name, digest }) => {
  const tar = new Uint8Array(readFileSync(pathOf(`${name}.upheld`)));
  expect(await verifyTar(tar, Digest.parse(digest))).toMatchObject({ ok: true, digest });
});

test.each(golden)("$name, the directory", async ({ name, digest }) => {
  await using reader = await openBundle(pathOf(name));
  const options = { hasher: nodeHasher, expectedDigest: Digest.parse(digest) };
  expect(await verifyBundle(reader, options)).toMatchObject({ ok: true, digest });
});

// Runs that were recorded and sealed once. What was decided then is decided again, whatever the form of the parts was.
const runs = [
  {
    name: "run-1",
    form: "contents within observations",
    digest: "sha256:21abca68adc2b705eecd97d8eb71f1a81ee89a1eccec928c03ce6a0a7067d102",
  },
  {
    name: "run-2",
    form: "contents apart, and every part salted",
    digest: "sha256:f875011a1c88e04784dfaaeaf1e22f810cc0493050823c8b7adb9b958f858b7e",
  },
  {
    name: "run-3",
    form: "a database, its world at the end, and a password removed",
    digest: "sha256:a6ddc3e9269a40cfa7ba89548ef6beec6c386eec1ce87cfdc794f2c000c77c2c",
    verdicts: ["upheld", "upheld", "refuted"],
  },
] as const;

test.each(runs)(
  "$name.upheld, with $form, is decided as it was",
  async ({ name, digest, ...more }) => {
    await using reader = await openBundle(pathOf(`${name}.upheld`));
    const options = { hasher: nodeHasher, expectedDigest: Digest.parse(digest) };
    const answer = await verifyBundle(reader, options);
    if (!answer.ok) throw new Error(answer.reason);
    const record = await readRunRecord(reader, answer.statement, { hasher: nodeHasher });
    const all = [...record.deltas, ...record.observations];
    const context = { ...contextOfObservations(all), roots: record.roots };
    expect(record.scores.map(({ subGoal, score }) => [subGoal, score.verdict])).toEqual(
      record.scores.map(({ subGoal, score }) => [
        subGoal,
        replay(score.condition, all, context).verdict,
      ]),
    );
    const verdicts = "verdicts" in more ? more.verdicts : Array(4).fill("upheld");
    expect(record.scores.map(({ score }) => score.verdict.value)).toEqual(verdicts);
  },
);

test("run-3.upheld shows what was there: the changed row before the others, and both counts", async () => {
  await using reader = await openBundle(pathOf("run-3.upheld"));
  const answer = await verifyBundle(reader, { hasher: nodeHasher });
  if (!answer.ok) throw new Error(answer.reason);
  const { worlds = [] } = await readRunRecord(reader, answer.statement, { hasher: nodeHasher });
  expect(
    worlds.flatMap(({ tables }) =>
      tables.map(({ uri, rowsShown, rowsTotal, rows: [first] }) => ({
        uri,
        shown: `${rowsShown} of ${rowsTotal ?? "unknown"}`,
        first: [first?.why, first?.before?.at(-1), first?.now?.at(-1)],
      })),
    ),
  ).toEqual([
    { uri: "shop:/orders", shown: "40 of 60", first: ["changed", "new", "cancelled"] },
    { uri: "shop:/users", shown: "2 of 2", first: ["named", undefined, "bo"] },
  ]);
});
