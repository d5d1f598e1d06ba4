import { connectionSecrets } from "../evidence/connection-secrets.ts";
import { MIN_SECRET_LENGTH, type DeclaredSecret } from "../evidence/declared-secret.ts";
import { redactorOf, type Redactor, type TokenFinder } from "../evidence/redactor.ts";
import { keyedHex, type RunSecret } from "../evidence/salt.ts";

/** Removes secrets from a run's evidence and from what is printed of it; the run's secret names what was removed. */
export function redactorOfRun(
  secrets: readonly DeclaredSecret[],
  secret: RunSecret,
  findTokens?: TokenFinder,
): Redactor {
  return redactorOf({
    secrets,
    nameOf: (text) => keyedHex(secret, `mask ${text}`).slice(0, 12),
    ...(findTokens === undefined ? {} : { findTokens }),
  });
}

/** The passwords in the addresses of databases are secrets, too, where they are long enough to be told from ordinary text. */
export function secretsOfDatabases(
  databases: readonly { readonly name: string; readonly url: string }[],
): readonly DeclaredSecret[] {
  return databases.flatMap(({ name, url }) =>
    connectionSecrets(url)
      .map(({ start, end }) => url.slice(start, end))
      .flatMap((value) => [value, decoded(value)])
      .filter((value) => value.length >= MIN_SECRET_LENGTH)
      .map((value) => ({ name: `database-${name}`, value })),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
