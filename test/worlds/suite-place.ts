import { join } from "node:path";
import { Workplace, type Printed } from "../cli/upheld.ts";

/** What `upheld test --json` prints, as far as tests look at it. */
export interface ToldSuite {
  readonly scenarios: readonly {
    readonly name: string;
    readonly status: string;
    readonly attempts: number;
    readonly failure?: { readonly domain: string; readonly code: string; readonly message: string };
    readonly subGoals: readonly {
      readonly name: string;
      readonly decidedBy: string;
      readonly held: boolean | null;
      readonly rationale: string;
      readonly verdict: { readonly value: string; readonly gaps?: readonly { code: string }[] };
    }[];
  }[];
  readonly counts: Readonly<Record<string, number>>;
  readonly passed: {
    readonly lower: number;
    readonly upper: number;
    readonly decided: number;
    readonly total: number;
  } | null;
}

export function toldSuite({ stdout, stderr }: Printed): ToldSuite {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no JSON object was printed: ${stdout}\n${stderr}`);
  }
}

/** A workplace whose root is a suite of the given files. */
export function suitePlace(files: Readonly<Record<string, string>>): Workplace {
  const place = new Workplace();
  for (const [name, text] of Object.entries(files)) place.write(join("root", name), text);
  return place;
}

/** A scenario whose agent is a shell that does what the prompt says. `subGoals` is YAML in one line. */
export function shellScenario(prompt: string, subGoals: string, more = ""): string {
  return `agent: { command: [sh] }\nprompt: ${JSON.stringify(prompt)}\nsubGoals: ${subGoals}\n${more}\n`;
}

/** Done is written into out.txt. */
export const WRITTEN =
  '{ name: written, condition: { kind: content_written, uri: "workspace:/out.txt", matcher: { kind: contains, value: done } } }';
