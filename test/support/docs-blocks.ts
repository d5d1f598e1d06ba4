/** A fenced code block of a page. */
export interface Block {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** What follows the language on the fence, word by word. */
  readonly words: readonly string[];
  readonly text: string;
}

/** One command of a console block, with what the page says it prints. */
export interface Command {
  readonly script: string;
  readonly output: readonly string[];
  readonly exitCode: number;
}

const fence = /^(?<indent> *)(?<ticks>`{3,})(?<info>[^`]*)$/;

/** The blocks of a page in order. Throws when a fence is not closed. */
export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split(/\r?\n/);
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const opening = fence.exec(lines[at] ?? "")?.groups;
    if (opening === undefined) continue;
    const { indent = "", ticks = "", info = "" } = opening;
    const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
    if (end === -1) throw new Error(`the code block of line ${at + 1} is not closed`);
    const [language = "", ...words] = info.trim().split(/\s+/);
    const inside = lines.slice(at + 1, end).map((line) => line.slice(commonIndent(line, indent)));
    blocks.push({
      line: at + 1,
      language,
      words,
      text: inside.map((line) => `${line}\n`).join(""),
    });
    at = end;
  }
  return blocks;
}

const commonIndent = (line: string, indent: string): number =>
  line.startsWith(indent) ? indent.length : 0;

/** The value of `key=value` on the fence. */
export function option(block: Block, key: string): string | undefined {
  return block.words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
}

/** The commands of a console block. Throws when output comes before the first command. */
export function commandsOf(block: Block): Command[] {
  const commands: { script: string; output: string[]; exitCode: number }[] = [];
  for (const line of block.text.replace(/\n$/, "").split("\n")) {
    const current = commands.at(-1);
    if (line.startsWith("$ ")) {
      commands.push({ script: line.slice(2), output: [], exitCode: 0 });
    } else if (current === undefined) {
      throw new Error(`line ${block.line}: a console block starts with "$ "`);
    } else if (line.startsWith("> ") && current.output.length === 0) {
      current.script += `\n${line.slice(2)}`;
    } else if (/^# exit \d+$/.test(line)) {
      current.exitCode = Number(line.slice("# exit ".length));
    } else {
      current.output.push(line);
    }
  }
  return commands.map((command) => ({ ...command, output: withoutBlankEnd(command.output) }));
}

function withoutBlankEnd(lines: readonly string[]): string[] {
  const end = lines.findLastIndex((line) => line.trim() !== "");
  return lines.slice(0, end + 1).map((line) => line.trimEnd());
}

/** Whether a line is as the page says, where `...` stands for any text. */
function lineMatches(wanted: string, seen: string): boolean {
  const parts = wanted.split("...").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su").test(seen);
}

/** Whether all lines are as the page says, where a line of only `...` stands for any lines, also none. */
function linesMatch(wanted: readonly string[], seen: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return seen.length === 0;
  if (first.trim() === "...") {
    return Array.from({ length: seen.length + 1 }).some((_, skip) =>
      linesMatch(rest, seen.slice(skip)),
    );
  }
  const [line, ...others] = seen;
  return line !== undefined && lineMatches(first, line) && linesMatch(rest, others);
}

/** Whether a command printed what the page says. */
export function outputMatches(wanted: readonly string[], printed: string): boolean {
  return linesMatch(withoutBlankEnd(wanted), withoutBlankEnd(printed.split(/\r?\n/)));
}
