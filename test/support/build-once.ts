import { buildIfStale } from "../../scripts/build.mjs";

/** Builds dist before the first test. Type errors are the type check's to report, so they only warn here. */
export async function setup(): Promise<void> {
  const { errors } = await buildIfStale();
  if (errors !== "") process.stderr.write(`dist was built with type errors:\n${errors}`);
}
