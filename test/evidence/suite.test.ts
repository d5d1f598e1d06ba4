import { describe, expect, test } from "vitest";
import { canonicalJsonBytes } from "../../src/core/canonical-json.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { Timestamp } from "../../src/core/timestamp.ts";
import { countersign } from "../../src/evidence/amend.ts";
import type { Bundle, BundleFile, SuiteBundle } from "../../src/evidence/bundle.ts";
import { plainHasher as hasher } from "../../src/evidence/hasher.ts";
import { layoutOf, type StatementFiles } from "../../src/evidence/layout.ts";
import { byteSource } from "../../src/evidence/reader.ts";
import { scenarioReference, SUITE_REFERENCE } from "../../src/evidence/reference.ts";
import { sealSuite, type ScenarioInput } from "../../src/evidence/seal-suite.ts";
import { suiteSubjectsOf } from "../../src/evidence/suite-statement.ts";
import { tarReader } from "../../src/evidence/tar-reader.ts";
import { verifyBundle, type VerifyOptions } from "../../src/evidence/verify.ts";
import { verifySuite } from "../../src/evidence/verify-suite.ts";
import { newKeys } from "../support/keys.ts";
import { inOrder, type Json, seal, smallInput, tarOf } from "../support/sample-bundle.ts";

const at = Timestamp.parse("2026-11-30T10:00:00.000000000Z");
const run = {
  suite: "shop",
  startedAt: at,
  endedAt: at,
  producer: { name: "upheld", version: "0.1.0" },
};
const keys = newKeys();

const bundleOf = (scenarioKey: string, scenarioAttempt = 1): Promise<Bundle> =>
  seal({ ...smallInput, run: { ...smallInput.run, scenarioKey, scenarioAttempt } });
const [refund, cancel, again] = [
  await bundleOf("refund"),
  await bundleOf("cancel"),
  await bundleOf("refund", 2),
];

const scenarios: readonly ScenarioInput[] = [
  { scenarioKey: "refund", scenarioAttempt: 1, bundle: refund },
  { scenarioKey: "cancel", scenarioAttempt: 1, bundle: cancel },
  { scenarioKey: "broken", scenarioAttempt: 1, absent: "the agent did not start" },
];
const suite = await sealSuite({ run, sealer: "host", scenarios }, { hasher, signer: keys.signer });

const readerOf = (files: readonly BundleFile[]) => tarReader(byteSource(tarOf(files)));

async function answer(files: readonly BundleFile[], more: Partial<VerifyOptions> = {}) {
  const verified = await verifySuite(readerOf(files), { hasher, ...more });
  return verified.ok ? "intact" : `${verified.reason} at ${verified.at}`;
}

const bytesOf = (bundle: Bundle | SuiteBundle): Uint8Array =>
  bundle.files.find(({ name }) => name.endsWith(bundle.digest.slice(7)))?.bytes ?? new Uint8Array();

/** A suite as a liar would write it: the statement is changed, and everything else fits. */
async function forged(
  change: (statement: Json) => void,
  bundles: readonly Bundle[] = [refund, cancel],
): Promise<readonly BundleFile[]> {
  const statement = structuredClone(suite.statement) as Json;
  change(statement);
  statement.subject ??= suiteSubjectsOf(statement.predicate);
  const bytes = canonicalJsonBytes(statement);
  const runs: readonly StatementFiles[] = bundles.map((bundle, index) => ({
    reference: scenarioReference(index + 1),
    statement: { digest: bundle.digest, bytes: bytesOf(bundle) },
    parts: bundle.statement.predicate.parts,
    signatures: bundle.signatures,
  }));
  const own = { digest: digestOf(bytes), bytes };
  const last = { reference: SUITE_REFERENCE, statement: own, parts: undefined, signatures: [] };
  const { derived, names } = await layoutOf([...runs, last], new Set(), hasher);
  const all = [...bundles.flatMap(({ files }) => files), ...derived];
  const files = new Map(all.map((file) => [file.name, file]));
  return inOrder(names.flatMap((name) => files.get(name) ?? []));
}

describe("a suite run", () => {
  test("is intact, signed, and tells of every scenario in order", async () => {
    const options = { hasher, keys: [keys.key], expectedDigest: suite.digest };
    expect(await verifySuite(readerOf(suite.files), options)).toMatchObject({
      ok: true,
      digest: suite.digest,
      signature: "verified",
      signatures: [{ by: "host" }],
      statement: { predicate: { count: 3 } },
      scenarios: [
        { scenario: { scenarioKey: "refund", statement: refund.digest } },
        { scenario: { scenarioKey: "cancel", statement: cancel.digest } },
      ],
    });
  });

  test("holds equal blobs once", () => {
    // Marker, config, one part, a manifest that both have; two statements; the suite's, its signature twice; checksums, index.
    expect(suite.files).toHaveLength(11);
  });

  test("equal input gives an equal statement", async () => {
    const same = await sealSuite(
      { run, sealer: "host", scenarios },
      { hasher, signer: keys.signer },
    );
    expect(same.digest).toBe(suite.digest);
  });

  test("is no bundle of one run, and a run is no suite", async () => {
    expect(await verifyBundle(readerOf(suite.files), { hasher })).toMatchObject({
      reason: "kind_unexpected",
    });
    expect(await answer(refund.files)).toBe("kind_unexpected at index.json");
  });

  test("can be countersigned", async () => {
    const host = newKeys();
    const amended = await countersign(readerOf(suite.files), host.signer, { hasher });
    const files: BundleFile[] = [];
    for (const file of amended.files) {
      if ("bytes" in file) files.push(file);
      else for await (const bytes of file.pieces()) files.push({ name: file.name, bytes });
    }
    expect(await answer(files, { keys: [host.key, keys.key] })).toBe("intact");
  });
});

const lie = (predicate: (predicate: Json) => void) => (statement: Json) => {
  predicate(statement.predicate);
  delete statement.subject;
};

describe("a suite run that was changed", () => {
  test("the control: nothing changed", async () => {
    expect(await answer(await forged(() => undefined))).toBe("intact");
  });

  const table: readonly [string, () => Promise<readonly BundleFile[]>, string][] = [
    [
      "a scenario left out of the bundle",
      () => forged(() => undefined, [refund]),
      "scenario_missing at cancel",
    ],
    [
      "another statement in its place",
      () => forged(() => undefined, [refund, again]),
      "scenario_missing at cancel",
    ],
    [
      "scenarios in another order",
      () => forged(() => undefined, [cancel, refund]),
      "scenario_missing at refund",
    ],
    [
      "a statement more than is counted",
      () => forged(() => undefined, [refund, cancel, again]),
      "scenario_ambiguous at index.json",
    ],
    [
      "two statements for one scenario",
      () =>
        forged(
          lie((predicate) => {
            predicate.scenarios[1] = { ...predicate.scenarios[1], scenarioKey: "refund" };
          }),
        ),
      "scenario_ambiguous at /predicate/scenarios/1",
    ],
    [
      "a count that does not fit",
      () => forged(lie((predicate) => (predicate.count = 2))),
      "statement_invalid at /predicate/count",
    ],
    [
      "a scenario under another name",
      () => forged(lie((predicate) => (predicate.scenarios[0].scenarioKey = "other"))),
      "scenario_missing at other",
    ],
    [
      "a scenario of another run",
      () => forged(lie((predicate) => (predicate.scenarios[0].runId = "run-9"))),
      "scenario_missing at refund",
    ],
    [
      "subjects in another order",
      () =>
        forged((statement) => {
          statement.subject = statement.subject.toReversed();
        }),
      "subjects_wrong at /subject/0",
    ],
  ];

  test.each(table)("%s", async (_name, files, want) => {
    expect(await answer(await files())).toBe(want);
  });

  test("a scenario left out of statement and bundle shows in digest and signature", async () => {
    const files = await forged(
      lie((predicate) => {
        predicate.count = 2;
        predicate.scenarios.splice(1, 1);
      }),
      [refund],
    );
    expect(await answer(files)).toBe("intact");
    expect(await answer(files, { expectedDigest: suite.digest })).toMatch(/^digest_unexpected/);
    expect(await answer(files, { keys: [keys.key] })).toMatch(/^signature_missing/);
  });
});

describe("refuses to seal", () => {
  test.each([
    ["an attempt twice", [scenarios[0], scenarios[0]], /attempt 1 at refund occurs twice/],
    [
      "a bundle under another name",
      [{ scenarioKey: "cancel", scenarioAttempt: 1, bundle: refund }],
      /the bundle of cancel has the scenarioKey refund/,
    ],
    [
      "a bundle of another attempt",
      [{ scenarioKey: "refund", scenarioAttempt: 2, bundle: refund }],
      /the bundle of 2 has the scenarioAttempt 1/,
    ],
  ])("%s", async (_name, given, message) => {
    const input = { run, scenarios: given.flatMap((each) => each ?? []) };
    await expect(sealSuite(input, { hasher })).rejects.toThrow(message);
  });
});
