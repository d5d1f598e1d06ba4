import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { UpheldError } from "../core/errors.ts";
import { parseSuiteValue, SuiteAgent } from "./scenario.ts";

/** What `upheld.config.mjs` gives for a whole suite. */
export const SuiteConfig = z
  .strictObject({
    /** The agent of each scenario that names none. */
    agent: SuiteAgent.optional(),
  })
  .readonly();
export type SuiteConfig = z.infer<typeof SuiteConfig>;

const FILES = ["upheld.config.mjs", "upheld.config.js", "upheld.config.ts"] as const;

/** Gives a configuration its type; for the default export of `upheld.config.mjs`. */
export function defineConfig(config: SuiteConfig): SuiteConfig {
  return config;
}

/**
 * Loads `upheld.config.mjs`, `.js`, or `.ts` where this Node strips types (22.18 and later); undefined where there is none.
 * Throws "suite_invalid".
 */
export async function readConfig(folder: string): Promise<SuiteConfig | undefined> {
  const file = FILES.find((each) => existsSync(join(folder, each)));
  if (file === undefined) return undefined;
  if (file.endsWith(".ts") && !stripsTypes())
    throw new UpheldError(
      "suite_invalid",
      `this Node (${process.version}) runs no TypeScript: use Node 22.18 or later, or write upheld.config.mjs`,
    );
  const loaded: unknown = await import(pathToFileURL(join(folder, file)).href).catch(
    (cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new UpheldError("suite_invalid", `it cannot be loaded: ${why}`, { cause });
    },
  );
  const value: unknown =
    typeof loaded === "object" && loaded !== null && "default" in loaded
      ? loaded.default
      : undefined;
  return parseSuiteValue(SuiteConfig, value);
}

/** Whether this Node runs TypeScript by leaving its types out. */
export function stripsTypes(): boolean {
  return "typescript" in process.features && process.features.typescript !== false;
}
