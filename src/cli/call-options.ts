import { resolve } from "node:path";
import type { AskedCalls } from "../run/call-recording.ts";
import { usage, type Parsed } from "./options.ts";
import type { NamedRoot } from "./roots.ts";

export const CALLS_OPTION = {
  value: "FILE",
  help: "JSONL to which the agent, or upheld mcp-proxy, writes its tool calls, one a line",
};
export const OTLP_OPTIONS = {
  "otlp-complete": {
    help: "your word that every span of the agent arrives: only then is none proof of none",
  },
  "no-otlp": { help: "start no receiver of OpenTelemetry spans" },
};

/** Reads the options. Throws "argument_invalid" where they contradict each other, or the file would be written into an overlay. */
export function askedCalls(
  parsed: Parsed,
  { isolated }: { readonly isolated: readonly NamedRoot[] },
): AskedCalls {
  const given = parsed.one("calls");
  const file = given === undefined ? undefined : resolve(given);
  if (parsed.flag("no-otlp") && parsed.flag("otlp-complete"))
    throw usage("either --no-otlp or --otlp-complete, not both");
  const within = isolated.find(({ directory }) => file?.startsWith(`${directory}/`));
  if (within !== undefined)
    throw usage(
      `--calls ${given}: with --isolate the agent's writes below ${within.name}:/ wait in the overlay; name a file elsewhere`,
    );
  const otlp = parsed.flag("otlp-complete") ? "complete" : parsed.flag("no-otlp") ? "off" : "on";
  return { file, otlp };
}
