import type { Change } from "../core/change.ts";

/** How parts of a text are coloured; without colour every function returns its text. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly open: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly change: (change: Change, text: string) => string;
}

/** Colours for a terminal that wants them, else none. */
export function paintOf(colour: boolean): Paint {
  const wrap =
    (code: number) =>
    (text: string): string =>
      colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  const [good, bad, open, faint] = [wrap(32), wrap(31), wrap(33), wrap(2)];
  const change = (of: Change, text: string): string => {
    switch (of) {
      case "created":
        return good(text);
      case "deleted":
        return bad(text);
      case "modified":
      case "moved":
      case "unknown":
        return open(text);
      case "touched":
      case "unchanged":
        return faint(text);
    }
  };
  return { good, bad, open, faint, change };
}
