import { lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { sealBundle } from "../evidence/seal.ts";
import { jsonPieces } from "../report/json-pieces.ts";
import type { Signer } from "../evidence/signer.ts";
import type { EvidenceSealer } from "../evidence/statement.ts";
import { runReport, type RunReport, type SealedBundle } from "../report/run-report.ts";
import { reportText } from "../report/text.ts";
import { isBundle } from "../store/open-bundle.ts";
import { writeBundle } from "../store/bundle-file.ts";
import { sealInputOf } from "../evidence/record/evidence-file.ts";
import { nodeHasher } from "../store/hasher.ts";
import { newRunSecret } from "../store/run-secret.ts";
import type { RunRecord } from "../evidence/record/run-record.ts";
import type { CommandContext } from "./command.ts";
import { exitOfAgent, exitOfSubGoals } from "./exit.ts";
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
}

/** Seals, prints, and gives the exit code. */
export async function publish(
  record: RunRecord,
  { json, hints = [], ...saving }: Publication,
  { terminal, version, interruption }: CommandContext,
): Promise<number> {
  const bundle =
    saving.save === undefined
      ? undefined
      : await sealTo(saving.save, record, { ...saving, version, signal: interruption.signal });
  const report = reportOf(record, bundle);
  if (json) printJson(report, terminal);
  else terminal.out(reportText({ report, deltas: record.deltas, hints, colour: terminal.colour }));
  return exitOf(report, record);
}

/** Prints a report as one JSON object and a line break. */
export function printJson(report: RunReport, terminal: Terminal): void {
  for (const piece of jsonPieces(report)) terminal.out(piece);
  terminal.out("\n");
}

function reportOf(record: RunRecord, bundle: SealedBundle | undefined): RunReport {
  const scores = new Map(record.scores.map(({ subGoal, score }) => [subGoal, score]));
  return runReport({
    run: record.run,
    deltas: record.deltas,
    observations: record.observations,
    subGoals: (record.claims?.subGoals ?? []).map((subGoal) => ({
      subGoal,
      score: scores.get(subGoal.name),
    })),
    bundle,
  });
}

function exitOf({ subGoals, run }: RunReport, { claims }: RunRecord): number {
  const outcome = run?.agent?.outcome;
  if (claims === undefined) return outcome === undefined ? 0 : exitOfAgent(outcome);
  return exitOfSubGoals(
    subGoals.map(({ held }) => held),
    outcome,
  );
}

async function sealTo(
  path: string,
  record: RunRecord,
  {
    version,
    signal,
    signer,
    sealer,
  }: Omit<Publication, "json"> & {
    readonly version: string;
    readonly signal: AbortSignal;
  },
): Promise<SealedBundle> {
  const secret = newRunSecret();
  const input = sealInputOf(record, { name: "upheld", version }, secret);
  const bundle = await sealBundle(
    { ...input, ...(sealer === undefined ? {} : { sealer }) },
    { hasher: nodeHasher, secret, ...(signer === undefined ? {} : { signer }) },
  );
  await writeBundle(path, bundle, { as: "tar", signal });
  const sizeBytes = bundle.files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return { path, digest: bundle.digest, parts: bundle.statement.predicate.parts.length, sizeBytes };
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
