import { withholdParts } from "../evidence/amend.ts";
import { printable } from "../report/printable.ts";
import { writeBundle } from "../store/bundle-file.ts";
import { nodeHasher } from "../store/hasher.ts";
import { openBundle } from "../store/open-bundle.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { parseOptions, usage } from "./options.ts";
import { formOf } from "./seal.ts";
import { requireIntact } from "./verified-bundle.ts";

const OPTIONS = {
  out: { value: "FILE", help: "where the copy is written" },
  json: { help: "print one JSON object" },
};

export const withholdCommand: Command = {
  name: "withhold",
  summary:
    "Copy a bundle without some of its parts; the copy still verifies, and says what it lacks.",
  usage: ["upheld withhold FILE PART... --out FILE"],
  options: OPTIONS,
  examples: [
    [
      "give away what happened, not what the files held",
      "upheld withhold run.upheld contents/workspace.json --out shared.upheld",
    ],
    ["which parts are there?", "upheld show run.upheld"],
  ],
  async run(args, { terminal, interruption }) {
    const parsed = parseOptions(OPTIONS, args);
    const [file, ...titles] = parsed.positionals;
    if (file === undefined || titles.length === 0)
      throw usage("a bundle and the parts to withhold are expected");
    const out = parsed.one("out");
    if (out === undefined) throw usage("--out FILE is missing: where is the copy to be written?");
    const { signal } = interruption;
    await using bundle = await openBundle(file);
    await requireIntact(file, bundle, { signal });
    const copy = await withholdParts(bundle, titles, { hasher: nodeHasher });
    await writeBundle(out, copy, { as: formOf(file), signal });
    const { digest, withheld } = copy;
    const text = [
      `  withheld   ${withheld.map(printable).join(", ")}`,
      `  written    ${printable(out)}  ${digest}`,
      "",
    ].join("\n");
    const json = { path: out, digest, withheld };
    terminal.out(parsed.flag("json") ? `${JSON.stringify(json)}\n` : text);
    return EXIT.asExpected;
  },
};
