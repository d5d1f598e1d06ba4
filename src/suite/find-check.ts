import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UpheldError } from "../core/errors.ts";
import type { CheckFile } from "./scenario.ts";

const LANGUAGES = [
  [".mjs", "javascript"],
  [".js", "javascript"],
  [".ts", "typescript"],
  [".py", "python"],
] as const;

/** The languages in which a file stands beside a scenario, by its ending. */
type Ending = (typeof LANGUAGES)[number][0];

/**
 * The file that holds a function of a scenario, such as `checks/NAME.mjs`; undefined where there is none. Throws "suite_invalid"
 * where there are several, and where it is empty or no regular file: a file that is there and says nothing is a mistake,
 * only its absence leaves a sub-goal to a judge.
 */
export function findCode(
  folder: string,
  stem: string,
  endings: readonly Ending[] = LANGUAGES.map(([ending]) => ending),
): CheckFile | undefined {
  const found = LANGUAGES.filter(([ending]) => endings.includes(ending)).flatMap(
    ([ending, language]) => {
      const path = join(folder, `${stem}${ending}`);
      const there = lstatSync(path, { throwIfNoEntry: false });
      return there === undefined
        ? []
        : [{ name: `${stem}${ending}`, path, language, isFile: there.isFile() }];
    },
  );
  const [only, second] = found;
  if (only === undefined) return undefined;
  if (second !== undefined)
    throw invalid(`${only.name} and ${second.name} both stand there; one of them has to go`);
  if (!only.isFile) throw invalid(`${only.name} is no regular file`);
  if (readFileSync(only.path, "utf8").trim() === "")
    throw invalid(`${only.name} is empty; remove it, or let it decide something`);
  return { path: only.path, language: only.language };
}

function invalid(message: string): UpheldError {
  return new UpheldError("suite_invalid", message);
}
