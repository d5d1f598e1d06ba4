import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isUpheldError, UpheldError } from "../core/errors.ts";
import { collectorUrl } from "../deliver/destination.ts";
import type { Drained } from "../deliver/drain.ts";
import { isSpool, Spool } from "../deliver/spool.ts";
import { printable } from "../report/printable.ts";
import { existingStateFolders, stateCandidates } from "../store/state-folder.ts";
import type { Command, CommandContext } from "./command.ts";
import { deliveriesFolder, drainedText, emptySpool, exitOfDrained } from "./delivery.ts";
import { deliveryTo, TOKEN_OPTION } from "./delivery-options.ts";
import { EXIT } from "./exit.ts";
import { parseOptions, usage, type Parsed } from "./options.ts";

const OPTIONS = {
  to: { value: "URL", help: "only what waits for this collector; needed where there are several" },
  token: TOKEN_OPTION,
};

export const deliverCommand: Command = {
  name: "deliver",
  summary: "Send receipts and evidence that a collector has not received yet.",
  usage: ["upheld deliver [DIR] --token env:VAR [--to URL]"],
  options: OPTIONS,
  examples: [
    ["everything that runs left behind", "upheld deliver --token env:COLLECTOR_TOKEN"],
    ["what one run left behind", "upheld deliver DIR --token env:COLLECTOR_TOKEN"],
  ],
  async run(args, context) {
    const parsed = parseOptions(OPTIONS, args);
    const spools = spoolsOf(parsed, context.environment).flatMap((folder) =>
      lookInto(folder, context),
    );
    const isBusy = spools.some(({ to }) => to === null);
    const to = addressOf(parsed, new Set(spools.flatMap((each) => each.to ?? [])));
    if (to === null) {
      context.terminal.out("  deliver    nothing waits to be sent\n");
      return isBusy ? EXIT.infrastructure : EXIT.asExpected;
    }
    const code = await deliverAll(spools, to, { parsed, context });
    return isBusy ? EXIT.infrastructure : code;
  },
};

/** A spool and the collectors that its entries wait for; null where another process is at work on it. */
interface WaitingSpool {
  readonly folder: string;
  readonly to: readonly string[] | null;
}

function spoolsOf(
  { positionals, rest }: Parsed,
  environment: NodeJS.ProcessEnv,
): readonly string[] {
  const [folder, second] = positionals;
  if (second !== undefined || rest !== undefined) throw usage("one folder is expected at most");
  if (folder === undefined)
    return existingStateFolders(stateCandidates(environment)).flatMap((state) =>
      spoolsBelow(deliveriesFolder(state)),
    );
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UpheldError("file_unreadable", `${folder} is no folder of deliveries`);
  return isSpool(folder) ? [folder] : spoolsBelow(folder);
}

function spoolsBelow(folder: string): readonly string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name))
    .filter((path) => isSpool(path));
}

function lookInto(folder: string, { terminal }: CommandContext): readonly WaitingSpool[] {
  try {
    using spool = new Spool(folder);
    return [{ folder, to: [...new Set(spool.waiting.map(({ to }) => to))] }];
  } catch (error) {
    if (!isUpheldError(error) || error.code !== "state_busy") throw error;
    terminal.err(`  deliver    ${printable(folder)} is in the hands of another process\n`);
    return [{ folder, to: null }];
  }
}

/** The one collector that is meant; null where nothing waits for it. */
function addressOf(parsed: Parsed, waiting: ReadonlySet<string>): string | null {
  const given = parsed.one("to");
  if (given !== undefined) {
    const url = collectorUrl(given);
    return waiting.has(url) ? url : null;
  }
  const [only, another] = waiting;
  if (another !== undefined)
    throw usage(`several collectors are waited for, say which: ${[...waiting].join(", ")}`);
  return only ?? null;
}

async function deliverAll(
  spools: readonly WaitingSpool[],
  to: string,
  { parsed, context }: { readonly parsed: Parsed; readonly context: CommandContext },
): Promise<number> {
  const { terminal, environment, interruption } = context;
  const { destination } = deliveryTo(to, parsed, environment);
  const { signal } = interruption;
  let total: Drained = {
    delivered: 0,
    superseded: 0,
    refused: 0,
    withoutArtifacts: 0,
    waiting: 0,
    stopped: null,
  };
  for (const { folder } of spools.filter((each) => each.to?.includes(to) === true)) {
    if (total.stopped !== null) {
      total = { ...total, waiting: total.waiting + 1 };
      continue;
    }
    total = sumOf(total, await emptySpool(folder, { destination, signal, terminal }));
  }
  terminal.out(`  deliver    ${drainedText(total)}\n`);
  return exitOfDrained(total);
}

function sumOf(left: Drained, right: Drained): Drained {
  return {
    delivered: left.delivered + right.delivered,
    superseded: left.superseded + right.superseded,
    refused: left.refused + right.refused,
    withoutArtifacts: left.withoutArtifacts + right.withoutArtifacts,
    waiting: left.waiting + right.waiting,
    stopped: right.stopped,
  };
}
