import { lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UpheldError } from "../core/errors.ts";
import type { DeclaredSecret } from "../evidence/declared-secret.ts";
import { withRedactions } from "../evidence/part-redactions.ts";
import type { Redactor } from "../evidence/redactor.ts";
import type { RunSecret } from "../evidence/salt.ts";
import { sealBundle } from "../evidence/seal.ts";
import { jsonPieces } from "../report/json-pieces.ts";
import { groupOfRun } from "../report/outcome.ts";
import type { Signer } from "../evidence/signer.ts";
import type { EvidenceSealer } from "../evidence/statement.ts";
import { reportOfRecord } from "../report/record-report.ts";
import type { RunReport, SealedBundle } from "../report/run-report.ts";
import { printable } from "../report/printable.ts";
import { reportText } from "../report/text.ts";
import { redactRecord } from "../run/redact-record.ts";
import { redactorOfRun } from "../run/redactor-of-run.ts";
import { isBundle } from "../store/open-bundle.ts";
import { writeBundle } from "../store/bundle-file.ts";
import { sealInputOf } from "../evidence/record/evidence-file.ts";
import { nodeHasher } from "../store/hasher.ts";
import { newRunSecret } from "../store/run-secret.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { CommandContext } from "./command.ts";
import { exitOfAgent, exitOfSubGoals, exitUnder } from "./exit.ts";
import { concluded, type AskedReports } from "./reports.ts";
import type { Terminal } from "./terminal.ts";

/** How a run is told: as text or as one JSON object, and into which bundle it is sealed. */
export interface Publication {
  readonly json: boolean;
  readonly save?: string | undefined;
  /** The key to sign the bundle with. */
  readonly signer?: Signer | undefined;
  /** On which side of the sandbox this program runs. */
  readonly sealer?: EvidenceSealer["by"] | undefined;
  readonly hints?: readonly string[] | undefined;
  readonly secrets: readonly DeclaredSecret[];
  readonly reports: AskedReports;
}

/** Removes secrets, seals, prints, and gives the exit code. */
export async function publish(
  told: RunRecord,
  { json, hints: said = [], secrets, reports, ...saving }: Publication,
  { terminal, version, interruption }: CommandContext,
): Promise<number> {
  const secret = newRunSecret();
  // Loaded when there is something to publish: the rules are large.
  const { findTokens } = await import("../run/secret-rules.ts");
  const redactor = redactorOfRun(secrets, secret, findTokens);
  const record = await redactRecord(told, redactor);
  await redactor.study(said);
  const hints = said.map((hint) => redactor.mask(hint));
  const seal = { ...saving, secret, redactor, version, signal: interruption.signal };
  tellReplaced(saving.save, terminal);
  const bundle = saving.save === undefined ? undefined : await sealTo(saving.save, record, seal);
  const report = reportOfRecord(record, bundle);
  if (json) printJson(report, terminal);
  else terminal.out(reportText({ report, deltas: record.deltas, hints, colour: terminal.colour }));
  const name = record.scenario?.scenarioKey ?? "run";
  return concluded(exitOf(report, record, reports), [groupOfRun(name, report)], reports, {
    terminal,
    version,
  });
}

/** A bundle of before is gone once the new one stands in its place: nobody should learn that later. */
function tellReplaced(path: string | undefined, terminal: Terminal): void {
  if (path === undefined || lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  terminal.err(`  save       ${printable(path)} is replaced: a bundle of before is there\n`);
}

/** Prints a report as one JSON object and a line break. */
export function printJson(report: RunReport, terminal: Terminal): void {
  for (const piece of jsonPieces(report)) terminal.out(piece);
  terminal.out("\n");
}

function exitOf(
  { subGoals, run }: RunReport,
  { claims }: RunRecord,
  { policy }: AskedReports,
): number {
  const outcome = run?.agent?.outcome;
  if (claims === undefined) return outcome === undefined ? 0 : exitOfAgent(outcome);
  const held = subGoals.map((each) => each.held);
  return exitUnder(policy, exitOfSubGoals(held, outcome), subGoals);
}

interface Seal extends Pick<Publication, "signer" | "sealer"> {
  readonly secret: RunSecret;
  readonly redactor: Redactor;
  readonly version: string;
  readonly signal: AbortSignal;
}

async function sealTo(
  path: string,
  record: RunRecord,
  { secret, redactor, version, signal, signer, sealer }: Seal,
): Promise<SealedBundle> {
  const input = sealInputOf(record, { name: "upheld", version }, secret);
  const parts = withRedactions(input.parts, redactor.made);
  const bundle = await sealBundle(
    { ...input, parts, ...(sealer === undefined ? {} : { sealer }) },
    { hasher: nodeHasher, secret, ...(signer === undefined ? {} : { signer }) },
  );
  await writeBundle(path, bundle, { as: "tar", signal });
  const sizeBytes = bundle.files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return {
    path,
    digest: bundle.digest,
    parts: bundle.statement.predicate.parts.length,
    sizeBytes,
    secretsRemoved: redactor.made.size,
  };
}

/** Refuses a place where no bundle could be written, before the work is done. Throws "file_unwritable". */
export async function refuseUnwritable(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const folder = dirname(resolve(path));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UpheldError("file_unwritable", `cannot write ${path}: its directory is not there`);
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined || (await isBundle(path))) return;
  throw new UpheldError(
    "file_unwritable",
    `cannot write ${path}: it is there and is no evidence bundle`,
  );
}
