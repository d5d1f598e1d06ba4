import { printable } from "../report/printable.ts";
import { liesOutside } from "../store/state-folder.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { clockOf } from "./new-run.ts";
import { noArguments, parseOptions, usage } from "./options.ts";
import { countedIn, progressOn } from "./progress.ts";
import { givenLimits, LIMIT_OPTION, ROOT_OPTION, rootsOf } from "./roots.ts";
import { prepareBaselineFolder, rootFolder, sealBaselineFolder } from "./saved-baseline.ts";
import { WatchedRoots } from "./watched-roots.ts";

const OPTIONS = {
  root: ROOT_OPTION,
  save: { value: "FOLDER", help: "where to keep it, outside of every root" },
  limit: LIMIT_OPTION,
};

export const baselineCommand: Command = {
  name: "baseline",
  summary: "Record the world before a run that something else starts.",
  usage: ["upheld baseline [--root NAME=DIR]... --save FOLDER [--limit ...]"],
  options: OPTIONS,
  examples: [
    ["before", "upheld baseline --root workspace=./work --save /tmp/before"],
    ["after, in another process", "upheld observe --baseline /tmp/before --expect claims.yaml"],
  ],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    noArguments(parsed);
    const folder = parsed.one("save");
    if (folder === undefined) throw usage("--save FOLDER is missing: where should it be kept?");
    const roots = rootsOf(parsed);
    if (
      !liesOutside(
        folder,
        roots.map(({ directory }) => directory),
      )
    )
      throw usage(`--save ${folder}: it lies inside a root, and would be part of what is observed`);
    await using watched = new WatchedRoots(roots, { limits: givenLimits(parsed) });
    prepareBaselineFolder(folder);
    const progress = progressOn(terminal);
    const taken = [];
    let takenAt: Timestamp = clockOf(roots)();
    for (const [index, { name, source }] of watched.roots.entries()) {
      const started = performance.now();
      await using baseline = await source.baseline({
        signal: interruption.signal,
        onProgress: ({ listed }) => progress.update("baseline", listed),
      });
      await source.saveBaseline(baseline, rootFolder(folder, name));
      progress.clear();
      const counts = countedIn(baseline.entries, performance.now() - started);
      terminal.out(`  baseline   ${counts}   ${name}:/  ${baseline.digest}\n`);
      taken.push({ name, directory: roots[index]?.directory ?? ".", digest: baseline.digest });
      if (baseline.takenAt < takenAt) takenAt = baseline.takenAt;
    }
    sealBaselineFolder(folder, { schemaVersion: 1, takenAt, roots: taken });
    terminal.out(`  saved      ${printable(folder)}\n`);
    return EXIT.asExpected;
  },
};
