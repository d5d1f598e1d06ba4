import { parseArgs } from "node:util";
import { UpheldError } from "../core/errors.ts";

/** An option: a flag, or one that takes a value, named as in the help. */
export interface OptionDescription {
  readonly help: string;
  readonly value?: string;
  readonly multiple?: boolean;
}

export type OptionTable = Readonly<Record<string, OptionDescription>>;

/** The options and arguments of one call. */
export interface Parsed {
  flag(name: string): boolean;
  one(name: string): string | undefined;
  many(name: string): readonly string[];
  readonly positionals: readonly string[];
  /** What stands after "--", or undefined where there is none. */
  readonly rest: readonly string[] | undefined;
}

/** Reads the arguments of a command. Throws "argument_invalid" on an unknown option, a missing or a second value. */
export function parseOptions(table: OptionTable, args: readonly string[]): Parsed {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const { values, positionals } = parse(table, own);
  const listOf = (name: string): readonly (string | boolean)[] => {
    const value = values[name];
    return value === undefined ? [] : Array.isArray(value) ? value : [value];
  };
  for (const [name, { multiple }] of Object.entries(table))
    if (multiple !== true && listOf(name).length > 1) throw usage(`--${name} is given twice`);
  const texts = (name: string): readonly string[] =>
    listOf(name).filter((value) => typeof value === "string");
  return {
    flag: (name) => listOf(name).length > 0,
    one: (name) => texts(name)[0],
    many: texts,
    positionals,
    rest: end === -1 ? undefined : args.slice(end + 1),
  };
}

function parse(table: OptionTable, args: readonly string[]): ReturnType<typeof parseArgs> {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ("boolean" as const) : ("string" as const), multiple: true },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw usage(messageOf(message), cause);
  }
}

/** Node's message, without its advice on positional arguments that only a programmer can follow. */
function messageOf(message: string): string {
  const [first = message] = message.split(". To specify");
  return first.replace(/\.$/, "").replace(/^./, (letter) => letter.toLowerCase());
}

/** A wrong use of the command line. */
export function usage(message: string, cause?: unknown): UpheldError {
  return new UpheldError("argument_invalid", message, { cause });
}

/** The one argument that a command takes. Throws "argument_invalid" where there is none or more than one. */
export function onlyArgument(parsed: Parsed, what: string): string {
  const [argument, second] = parsed.positionals;
  if (argument === undefined || argument === "") throw usage(`${what} is missing`);
  if (second !== undefined)
    throw usage(`one ${what} is expected, ${JSON.stringify(second)} is too many`);
  refuseRest(parsed);
  return argument;
}

export function noArguments(parsed: Parsed): void {
  const [first] = parsed.positionals;
  if (first !== undefined) throw usage(`unexpected argument ${JSON.stringify(first)}`);
  refuseRest(parsed);
}

function refuseRest({ rest }: Parsed): void {
  if (rest !== undefined) throw usage('this command takes no "--"');
}
