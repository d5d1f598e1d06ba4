import { existsSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { RunId } from "../core/ids.ts";
import { counted } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import type { ApplyOptions, ApplyResult } from "../run/isolation/apply.ts";
import { openWrites, type KeptWrites } from "../run/isolation/isolate.ts";
import { existingStateFolders, stateCandidates } from "../store/state-folder.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions, usage } from "./options.ts";

const OPTIONS = {};
const MAX_SHOWN = 20;

export const applyCommand: Command = {
  name: "apply",
  summary: "Write what an isolated run did into the real directories.",
  usage: ["upheld apply RUN"],
  options: OPTIONS,
  examples: [["the run's id is in its report", "upheld apply 20261130-191200-3f9a2c"]],
  async run(args, { terminal, environment, interruption }) {
    const runId = runIdOf(args);
    const kept = keptWrites(runId, environment);
    const { signal } = interruption;
    // Of several roots, either all are written or none.
    for (const { name } of kept.roots) await applied(kept, name, { signal, onlyDecides: true });
    for (const { name } of kept.roots) {
      const { applied: count, notKept } = await applied(kept, name, { signal });
      const left = notKept.length === 0 ? "" : `, ${counted(notKept.length, "attribute")} not kept`;
      terminal.out(`  applied    ${counted(count, "change")} to ${name}:/${left}\n`);
    }
    await kept.discard();
    return EXIT.asExpected;
  },
};

export const discardCommand: Command = {
  name: "discard",
  summary: "Throw away what an isolated run did; the real directories stay as they are.",
  usage: ["upheld discard RUN"],
  options: OPTIONS,
  examples: [["the run's id is in its report", "upheld discard 20261130-191200-3f9a2c"]],
  async run(args, { terminal, environment }) {
    const runId = runIdOf(args);
    await keptWrites(runId, environment).discard();
    terminal.out(`  discarded  ${runId}\n`);
    return EXIT.asExpected;
  },
};

function runIdOf(args: readonly string[]): RunId {
  const text = onlyArgument(parseOptions(OPTIONS, args), "the id of a run");
  const id = RunId.safeParse(text);
  if (id.success) return id.data;
  throw usage(`${JSON.stringify(text)} is no id of a run`);
}

function keptWrites(runId: RunId, environment: NodeJS.ProcessEnv): KeptWrites {
  for (const { isolation } of existingStateFolders(stateCandidates(environment)))
    if (existsSync(join(isolation, runId))) return openWrites(isolation, runId);
  throw new UpheldError(
    "run_unknown",
    `no isolated run ${runId} is kept: it was applied, discarded, or never isolated`,
  );
}

/** Throws "root_changed" where the root is not what the run saw. */
async function applied(
  kept: KeptWrites,
  name: string,
  options: ApplyOptions,
): Promise<Extract<ApplyResult, { ok: true }>> {
  const result = await kept.apply(name, options);
  if (!result.ok) throw refusal(name, result.conflicts, result.total);
  return result;
}

function refusal(
  root: string,
  conflicts: readonly { readonly path: Buffer; readonly reason: string }[],
  total: number,
): UpheldError {
  const shown = conflicts
    .slice(0, MAX_SHOWN)
    .map(({ path, reason }) => `${root}:/${printable(path.toString())} ${reason}`);
  const more = total > shown.length ? [`and ${total - shown.length} more`] : [];
  return new UpheldError(
    "root_changed",
    [`nothing was written, because ${root}:/ changed since the run:`, ...shown, ...more].join("\n"),
  );
}
