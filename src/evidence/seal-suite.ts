import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import { issuesOf } from "../core/issues.ts";
import type { Bundle, BundleFile, SuiteBundle } from "./bundle.ts";
import { freeze } from "./freeze.ts";
import { blobName, blobOf, compareNames, layoutOf } from "./layout.ts";
import type { ReceiptFailure, ReceiptStatus } from "./receipt.ts";
import { scenarioReference, SUITE_REFERENCE } from "./reference.ts";
import type { StatementFiles } from "./layout.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import type { SealOptions } from "./seal.ts";
import { sealerOf, signStatement } from "./signer.ts";
import { STATEMENT_TYPE, storedParts, type EvidenceSealer } from "./statement.ts";
import {
  repeatedScenario,
  SUITE_PREDICATE_TYPE,
  SuitePredicate,
  suiteSubjectsOf,
  type SuiteRun,
  type SuiteScenario,
  type SuiteStatement,
} from "./suite-statement.ts";

/** A scenario of a suite run, by its sealed evidence or by the reason for which there is none. */
export type ScenarioInput = {
  readonly scenarioKey: string;
  /** Which attempt at the scenario, from 1. */
  readonly scenarioAttempt: number;
} & (
  | { readonly bundle: Bundle }
  | {
      readonly absent: string;
      readonly status?: ReceiptStatus;
      readonly failure?: ReceiptFailure;
    }
);

export interface SuiteInput {
  readonly run: SuiteRun;
  readonly sealer?: EvidenceSealer["by"];
  /** Every scenario, in the order in which they ran. */
  readonly scenarios: readonly ScenarioInput[];
}

/**
 * Seals the bundles of a suite run into one, with a statement over all of them, their count and order. Equal blobs are one; the
 * statements and signatures of the scenarios stay as they are. Throws "argument_invalid" when an attempt at a scenario occurs
 * twice, a bundle is of another scenario than is said, or the input is not of the stated form.
 */
export async function sealSuite(
  { run, sealer, scenarios }: SuiteInput,
  options: Omit<SealOptions, "secret">,
): Promise<SuiteBundle> {
  const { hasher, signer, limits = BUNDLE_LIMITS } = options;
  const predicate = SuitePredicate.safeParse({
    run,
    ...sealerOf(sealer, signer),
    count: scenarios.length,
    scenarios: scenarios.map(scenarioOf),
  });
  if (!predicate.success)
    throw new UpheldError("argument_invalid", `cannot seal: ${issuesOf(predicate.error)}`);
  refuseRepeated(predicate.data);
  const statement: SuiteStatement = {
    _type: STATEMENT_TYPE,
    subject: suiteSubjectsOf(predicate.data),
    predicateType: SUITE_PREDICATE_TYPE,
    predicate: predicate.data,
  };
  const blob = await blobOf(canonicalJsonBytes(statement), hasher);
  const signatures = signer === undefined ? [] : [await signStatement(blob, signer)];
  const bundles = scenarios.flatMap((each) => ("bundle" in each ? [each.bundle] : []));
  const suite = { reference: SUITE_REFERENCE, statement: blob, parts: undefined, signatures };
  const layout = await layoutOf([...bundles.map(filesOf), suite], new Set(), hasher);
  const files = new Map(
    [...bundles.flatMap(partsOf), ...layout.derived].map((file) => [file.name, file]),
  );
  if (files.size > limits.maxFiles)
    throw new UpheldError(
      "argument_invalid",
      `the suite has ${files.size} files, at most ${limits.maxFiles} can be sealed`,
    );
  const ordered = [...files.values()].toSorted((left, right) =>
    compareNames(left.name, right.name),
  );
  return freeze({ digest: blob.digest, statement, files: ordered });
}

function scenarioOf({ scenarioKey, scenarioAttempt, ...given }: ScenarioInput): SuiteScenario {
  const named = { scenarioKey, scenarioAttempt };
  if ("absent" in given) {
    const { absent: reason, ...told } = given;
    return { state: "absent", ...named, reason, ...told };
  }
  const { digest, statement } = given.bundle;
  const { run } = statement.predicate;
  refuseOther("scenarioKey", run.scenarioKey, scenarioKey);
  refuseOther("scenarioAttempt", run.scenarioAttempt, scenarioAttempt);
  return {
    state: "sealed",
    ...named,
    runId: run.runId,
    ...(run.attemptId === undefined ? {} : { attemptId: run.attemptId }),
    manifest: manifestOf(given.bundle),
    statement: digest,
  };
}

/** A statement that does not say which scenario it is about is believed to be about this one. */
function refuseOther(
  field: string,
  is: string | number | undefined,
  wanted: string | number,
): void {
  if (is === undefined || is === wanted) return;
  throw new UpheldError("argument_invalid", `the bundle of ${wanted} has the ${field} ${is}`);
}

function refuseRepeated({ scenarios }: SuitePredicate): void {
  const index = repeatedScenario(scenarios);
  const repeated = index === null ? undefined : scenarios[index];
  if (repeated === undefined) return;
  throw new UpheldError(
    "argument_invalid",
    `attempt ${repeated.scenarioAttempt} at ${repeated.scenarioKey} occurs twice`,
  );
}

/** The first subject of a sealed statement is its manifest. */
function manifestOf({ statement }: Bundle): Digest {
  return Digest.parse(`sha256:${statement.subject[0]?.digest.sha256}`);
}

function filesOf({ digest, files, statement, signatures }: Bundle, index: number): StatementFiles {
  const bytes = files.find(({ name }) => name === blobName(digest))?.bytes;
  if (bytes === undefined)
    throw new UpheldError("argument_invalid", "a bundle lacks its statement");
  return {
    reference: scenarioReference(index + 1),
    statement: { digest, bytes },
    parts: statement.predicate.parts,
    signatures,
  };
}

function partsOf({ files, statement }: Bundle): readonly BundleFile[] {
  const names = new Set(
    storedParts(statement.predicate.parts).map(({ digest }) => blobName(digest)),
  );
  return files.filter(({ name }) => names.has(name));
}
