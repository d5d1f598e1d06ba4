import type { ExpectationFile } from "../core/expectation.ts";
import type { Parsed } from "./options.ts";

/** The claims of `--expect`, where it was given. The reader of YAML is loaded only then. Throws as `readClaimsFile` does. */
export async function givenClaims(parsed: Parsed): Promise<ExpectationFile | undefined> {
  const path = parsed.one("expect");
  if (path === undefined) return undefined;
  const { readClaimsFile } = await import("./claims-file.ts");
  return readClaimsFile(path);
}
