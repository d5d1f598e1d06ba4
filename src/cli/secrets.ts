import { MIN_SECRET_LENGTH, type DeclaredSecret } from "../evidence/declared-secret.ts";
import { formatWords } from "../run/format-words.ts";
import { redactorOfRun } from "../run/redactor-of-run.ts";
import { newRunSecret } from "../store/run-secret.ts";
import type { CommandContext } from "./command.ts";
import { usage, type Parsed } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export const SECRET_OPTION = {
  value: "env:VAR",
  multiple: true,
  help: "a secret that must stand in no output and no evidence, by its variable",
};

/**
 * The secrets that the command line names. Throws "argument_invalid" where a variable is not set, or holds so little that masking it
 * would blank ordinary text.
 */
export function declaredSecrets(
  parsed: Parsed,
  environment: NodeJS.ProcessEnv,
): readonly DeclaredSecret[] {
  return parsed.many("secret").map((text) => {
    const name = /^env:([A-Za-z_][A-Za-z0-9_]{0,63})$/.exec(text)?.[1];
    if (name === undefined)
      throw usage("--secret: expected env:VAR, the name of a variable that holds the secret");
    const value = environment[name] ?? "";
    if (value === "") throw usage(`--secret env:${name}: the variable is not set`);
    if (value.trim().length < MIN_SECRET_LENGTH)
      throw usage(
        `--secret env:${name}: the value has fewer than ${MIN_SECRET_LENGTH} characters, and stands in ordinary text by chance`,
      );
    if (formatWords().has(value.trim()))
      throw usage(`--secret env:${name}: the value is a word of which every bundle is made`);
    return { name, value };
  });
}

/** Keeps secrets out of everything that is printed from now on, errors too. */
export function hideSecrets(secrets: readonly DeclaredSecret[], terminal: Terminal): void {
  terminal.hide(redactorOfRun(secrets, newRunSecret()).mask);
}

/** What removes secrets from these texts: passwords, keys and tokens that nobody declared. */
export async function maskOf(texts: readonly string[]): Promise<(text: string) => string> {
  const { findTokens } = await import("../run/secret-rules.ts");
  const redactor = redactorOfRun([], newRunSecret(), findTokens);
  await redactor.study(texts);
  return redactor.mask;
}

/** Reads the secrets of the command line and keeps them out of what is printed. */
export function hideDeclared(
  parsed: Parsed,
  { environment, terminal }: CommandContext,
): readonly DeclaredSecret[] {
  const secrets = declaredSecrets(parsed, environment);
  hideSecrets(secrets, terminal);
  return secrets;
}
