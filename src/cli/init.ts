import { writeFileSync } from "node:fs";
import { UpheldError } from "../core/errors.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { parseOptions } from "./options.ts";
import { usage } from "./options.ts";

const CLAIMS = `# What is expected of a run. Try it:
#   upheld run --expect claims.yaml -- python agent.py
objective: Write the report

subGoals:
  # Something was written by this run, and was not there before.
  - name: report-written
    what: The agent writes its report
    condition:
      kind: content_written
      uri: workspace:/out/**
      match: glob
      matcher: { kind: contains, value: Summary }

  # Polarity: this must not have happened.
  - name: no-key-leaked
    what: The key never reaches a file
    expect: refuted
    condition:
      kind: content_written
      uri: workspace:/**
      match: glob
      matcher: { kind: contains, value: sk-live }

  # The frame: this and nothing else. @noise stands for .git, caches and logs; it is printed and counted.
  - name: nothing-else
    condition:
      kind: changed_only
      allow: ["workspace:/out/**", "@noise"]

  # Other kinds: content_removed, said, and all / any / not / majority over several conditions.
  # Matchers: contains, equals, regex, digest, json, empty.
  # What no code can settle is left to a judge, and is never a pass until it was judged:
  #  - name: tone
  #    judged: The report is polite.
  #    needs: [files]
`;

const OPTIONS = {};

export const initCommand: Command = {
  name: "init",
  summary: "Write a claims file with comments, to start from.",
  usage: ["upheld init [FILE]"],
  options: OPTIONS,
  examples: [
    ["write claims.yaml here", "upheld init"],
    ["under another name", "upheld init checks/refund.yaml"],
  ],
  async run(args, { terminal }) {
    const { positionals, rest } = parseOptions(OPTIONS, args);
    if (positionals.length > 1 || rest !== undefined)
      throw usage("upheld init takes one file name");
    const file = positionals[0] ?? "claims.yaml";
    writeNew(file, CLAIMS);
    terminal.out(`wrote ${file}\n`);
    return EXIT.asExpected;
  },
};

/** Writes a file that is not there yet. Throws "file_unwritable". */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
    const why = code === "EEXIST" ? "it is there already, and is never overwritten" : code;
    throw new UpheldError("file_unwritable", `cannot write ${file}: ${why}`, { cause });
  }
}
