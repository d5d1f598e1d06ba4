import { printable } from "../report/printable.ts";
import { liesOutside } from "../store/state-folder.ts";
import type { Timestamp } from "../core/timestamp.ts";
import type { Command } from "./command.ts";
import { DB_OPTION, databasesOf } from "./databases.ts";
import { EXIT } from "./exit.ts";
import { clockOf } from "../run/new-run.ts";
import { noArguments, parseOptions, usage } from "./options.ts";
import { countedIn, progressOn } from "./progress.ts";
import { givenLimits, LIMIT_OPTION, ROOT_OPTION, rootsOf } from "./roots.ts";
import { prepareBaselineFolder, rootFolder, sealBaselineFolder } from "./saved-baseline.ts";
import { WatchedRoots } from "./watched-roots.ts";

const OPTIONS = {
  root: ROOT_OPTION,
  db: DB_OPTION,
  save: { value: "FOLDER", help: "where to keep it, outside of every root" },
  limit: LIMIT_OPTION,
};

export const baselineCommand: Command = {
  name: "baseline",
  summary: "Record the world before a run that something else starts.",
  usage: ["upheld baseline [--root NAME=DIR]... [--db NAME=URL]... --save FOLDER [--limit ...]"],
  options: OPTIONS,
  examples: [
    ["before", "upheld baseline --root workspace=./work --save /tmp/before"],
    ["after, in another process", "upheld observe --baseline /tmp/before --expect claims.yaml"],
  ],
  async run(args, { terminal, interruption, environment }) {
    const parsed = parseOptions(OPTIONS, args);
    noArguments(parsed);
    const folder = parsed.one("save");
    if (folder === undefined) throw usage("--save FOLDER is missing: where should it be kept?");
    const roots = rootsOf(parsed);
    const databases = databasesOf(parsed, roots, environment);
    if (
      !liesOutside(
        folder,
        roots.map(({ directory }) => directory),
      )
    )
      throw usage(`--save ${folder}: it lies inside a root, and would be part of what is observed`);
    // Another process cannot take over a held snapshot.
    const wishes = new Map(databases.map(({ name }) => [name, "baseline"] as const));
    const limits = givenLimits(parsed);
    await using watched = new WatchedRoots(roots, { limits, databases, wishes });
    prepareBaselineFolder(folder);
    const progress = progressOn(terminal);
    const taken = [];
    const stored = [];
    let takenAt: Timestamp = clockOf(roots)();
    for (const { name, source } of watched.roots) {
      const started = performance.now();
      await using baseline = await source.baseline({
        signal: interruption.signal,
        onProgress: ({ listed }) => progress.update("baseline", listed),
      });
      await source.saveBaseline(baseline, rootFolder(folder, name));
      progress.clear();
      const counts = countedIn(baseline.entries, performance.now() - started);
      terminal.out(`  baseline   ${counts}   ${name}:/  ${baseline.digest}\n`);
      const { digest } = baseline;
      const directory = roots.find((root) => root.name === name)?.directory;
      if (directory === undefined) stored.push({ name, digest });
      else taken.push({ name, directory, digest });
      if (baseline.takenAt < takenAt) takenAt = baseline.takenAt;
    }
    sealBaselineFolder(folder, { schemaVersion: 1, takenAt, roots: taken, databases: stored });
    terminal.out(`  saved      ${printable(folder)}\n`);
    return EXIT.asExpected;
  },
};
