import { createToken, ProjectName, scopesOf, SCOPES } from "../server/auth.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { noArguments, parseOptions, usage } from "./options.ts";
import { COLLECTOR_OPTIONS, placeOf } from "./serve.ts";

const OPTIONS = {
  ...COLLECTOR_OPTIONS,
  project: { value: "NAME", help: "the project that it is for (default main)" },
  scope: { value: SCOPES.join("|"), multiple: true, help: "what it allows; may be given again" },
  label: { value: "TEXT", help: "what it is for, as it is listed" },
  days: { value: "N", help: "how long it holds (default: until it is revoked)" },
};

export const tokenCommand: Command = {
  name: "token",
  summary: "Make a token for a collector that is not running, or that runs on a Postgres server.",
  usage: [
    `upheld token --scope ${SCOPES.join("|")}... [--project NAME] [--label TEXT] [--days N] [--data DIR] [--database URL|env:VAR]`,
  ],
  options: OPTIONS,
  examples: [
    ["one that may make others, over HTTP", "upheld token --scope admin --project shop"],
    [
      "one for CI, for a quarter",
      "upheld token --scope ingest --project shop --label ci --days 90",
    ],
  ],
  async run(args, { terminal, environment }) {
    const parsed = parseOptions(OPTIONS, args);
    noArguments(parsed);
    const scopes = scopesOf(parsed.many("scope"));
    if (scopes.length === 0) throw usage(`--scope is missing: one of ${SCOPES.join(", ")}`);
    const project = ProjectName.safeParse(parsed.one("project") ?? "main");
    if (!project.success)
      throw usage("--project: expected 1 to 63 lower-case letters, digits or dashes");
    const { openCollectorStore } = await import("../server/collector.ts");
    await using store = await openCollectorStore(placeOf(parsed, environment));
    const { token } = await createToken(store.database, {
      project: project.data,
      scopes,
      label: parsed.one("label") ?? "made on the command line",
      expiresInDays: daysOf(parsed.one("days")),
    });
    terminal.out(`${token}\n`);
    terminal.err("  it is told this once: only its hash is kept\n");
    return EXIT.asExpected;
  },
};

function daysOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw usage(`--days ${text}: expected a whole number from 1 to 9999`);
}
