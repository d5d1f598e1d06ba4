import { writeNewKeys } from "../store/key-file.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./exit.ts";
import { onlyArgument, parseOptions } from "./options.ts";

const OPTIONS = {
  force: { help: "replace keys that are there" },
  json: { help: "print one JSON object" },
};

export const keygenCommand: Command = {
  name: "keygen",
  summary: "Make a pair of keys: one to sign bundles, one to verify them.",
  usage: ["upheld keygen FILE [--force] [--json]"],
  options: OPTIONS,
  examples: [["host.key signs, host.key.pub verifies", "upheld keygen host.key"]],
  run(args, { terminal }) {
    const parsed = parseOptions(OPTIONS, args);
    const file = onlyArgument(parsed, "a file for the key");
    const keys = writeNewKeys(file, { force: parsed.flag("force") });
    const text = [
      `  private    ${keys.privatePath}  signs; keep it where no agent can read it`,
      `  public     ${keys.publicPath}  verifies; give it to whoever has to trust the bundles`,
      `  key id     ${keys.keyId}`,
      "",
    ].join("\n");
    terminal.out(parsed.flag("json") ? `${JSON.stringify(keys)}\n` : text);
    return Promise.resolve(EXIT.asExpected);
  },
};
