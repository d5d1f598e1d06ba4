import type { Interruption } from "./interrupt.ts";
import type { OptionTable } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** What a command is given besides its arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly interruption: Interruption;
  readonly environment: NodeJS.ProcessEnv;
  readonly version: string;
}

/** One command of the command line: it parses, makes one call and prints. Its number is the exit code. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly usage: readonly string[];
  readonly options: OptionTable;
  /** A line of what it does, and the command line that does it. */
  readonly examples: readonly (readonly [string, string])[];
  run(args: readonly string[], context: CommandContext): Promise<number>;
}
