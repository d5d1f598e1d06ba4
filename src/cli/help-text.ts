import type { Command } from "./command.ts";
import type { OptionTable } from "./options.ts";

/** The help of one command, with examples. */
export function commandHelp(command: Command): string {
  const lines = [
    command.summary,
    "",
    ...command.usage.map((line, index) => `${index === 0 ? "Usage: " : "       "}${line}`),
    "",
    ...optionLines(command.options),
    "Examples:",
    ...command.examples.flatMap(([what, line]) => [`  # ${what}`, `  ${line}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function optionLines(options: OptionTable): readonly string[] {
  const rows = [
    ...Object.entries(options).map(([name, { value, help }]) => [
      `--${name}${value === undefined ? "" : ` ${value}`}`,
      help,
    ]),
    ["--help", "print this"],
  ];
  const width = Math.max(...rows.map(([left = ""]) => left.length));
  return [
    "Options:",
    ...rows.map(([left = "", right = ""]) => `  ${left.padEnd(width)}  ${right}`),
    "",
  ];
}

/** The help of the program: every command in a line. */
export function programHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "upheld says what a run of an agent did to the world, and proves it.",
    "",
    "Usage: upheld COMMAND [OPTIONS]",
    "",
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "Examples:",
    "  # what does this command change in the directory that I am in?",
    "  upheld run -- python agent.py",
    "  # the help of a command",
    "  upheld help run",
    "",
    "Exit codes: 0 as expected, 1 not as expected, 2 undetermined, 3 evidence not intact, 4 the agent could not",
    "be run to its end, 5 judge or infrastructure, 64 usage, 70 internal. Without --expect the exit code is the agent's.",
    "",
  ].join("\n");
}
