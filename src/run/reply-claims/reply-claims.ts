import type { SurfaceEntry } from "../../core/entry.ts";
import type { Gap } from "../../core/gap.ts";
import type { AgentRoot } from "../agent.ts";
import { changesByName, outcomeOfClaim, type ClaimOutcome, type ClaimWorld } from "./outcome.ts";
import { assertionsOf, isHedged, verbOf, type Assertion, type ClaimedVerb } from "./grammar.ts";
import { tokensOf, type ReplyToken } from "./tokens.ts";

/** What a reply says about one path, beside what the run did there. A hint: nothing is decided by it. */
export interface ReplyClaim {
  /** The line that says so, at most 200 characters of it. */
  readonly claim: string;
  /** The path as the reply spells it. */
  readonly path: string;
  readonly verb: ClaimedVerb;
  readonly outcome: ClaimOutcome;
  /** The entry of the delta that fits. */
  readonly uri?: string;
}

export interface ReplyClaims {
  readonly claims: readonly ReplyClaim[];
  /** How many were found in what was read; `claims` shows at most `maxClaims`. */
  readonly total: number;
  /** True where the reply was longer than what was read. */
  readonly cut: boolean;
}

export interface ReplyClaimOptions {
  readonly roots?: readonly AgentRoot[];
  /** What the delta does not cover. */
  readonly gaps?: readonly Pick<Gap, "location">[];
  /** Default 100. */
  readonly maxClaims?: number;
  /** Characters read, from the end of the reply: there an agent sums up. Default 65 536. */
  readonly maxCharacters?: number;
}

const MAX_LINE = 2_000;
// Colours and other control sequences of a terminal.
const CONTROL = /\p{Cc}\[[0-9;?]{0,20}[A-Za-z]/gu;
const BULLET = /^\s{0,12}(?:[-*+•‣▪]|\d{1,3}[.)])\s+/;
const FENCE = /^\s{0,12}(?:```|~~~)/;
const SKIPPED = /^\s{0,12}>/;

/**
 * Finds the paths that a reply says were written, created, changed, deleted or moved, and looks for each in the delta.
 * Careful rather than complete: what is asked, denied, planned or told of others is no claim, nor is what stands in a code block.
 */
export function replyClaims(
  reply: string,
  delta: readonly Pick<SurfaceEntry, "uri" | "change" | "from">[],
  options: ReplyClaimOptions = {},
): ReplyClaims {
  const { roots = [], gaps = [], maxClaims = 100, maxCharacters = 65_536 } = options;
  const world = { changes: changesByName(delta), roots, gaps };
  const found = assertionsIn(reply.slice(-maxCharacters)).flatMap((each) => compared(each, world));
  return {
    claims: found.slice(0, maxClaims),
    total: found.length,
    cut: reply.length > maxCharacters,
  };
}

/** The claim, or none where it may be no path and no change fits. */
function compared(
  { line, path, certain, verb }: LineAssertion,
  world: ClaimWorld,
): readonly ReplyClaim[] {
  const { outcome, uri } = outcomeOfClaim(path, verb, world);
  if (!certain && outcome !== "in the delta") return [];
  const claim = line.trim().slice(0, 200);
  return [{ claim, path, verb, outcome, ...(uri === undefined ? {} : { uri }) }];
}

interface LineAssertion extends Assertion {
  readonly line: string;
}

/** Each assertion once, in the order of the lines. */
function assertionsIn(text: string): readonly LineAssertion[] {
  const found = new Map<string, LineAssertion>();
  /** The verb of a line such as "I created these files:", for the list below it. */
  let heading: ClaimedVerb | undefined;
  for (const line of proseOf(text)) {
    const bullet = BULLET.exec(line)?.[0];
    const tokens = tokensOf(line.slice(bullet?.length ?? 0));
    const said = sentencesOf(tokens).flatMap(assertionsOf);
    if (bullet === undefined) heading = headingVerb(tokens, said);
    const listed = bullet === undefined || said.length > 0 ? [] : listedPaths(tokens, heading);
    for (const assertion of [...said, ...listed]) {
      const key = `${assertion.verb}\n${assertion.path}`;
      if (!found.has(key)) found.set(key, { ...assertion, line });
    }
  }
  return [...found.values()];
}

/** The lines that are neither code nor quoted nor empty, cut to a fixed length. */
function proseOf(text: string): readonly string[] {
  let fenced = false;
  return text
    .replace(CONTROL, "")
    .split(/\r?\n/)
    .filter((line) => {
      const fence = FENCE.test(line);
      if (fence) fenced = !fenced;
      return !fence && !fenced && !SKIPPED.test(line) && line.trim() !== "";
    })
    .map((line) => line.slice(0, MAX_LINE));
}

function sentencesOf(tokens: readonly ReplyToken[]): readonly (readonly ReplyToken[])[] {
  const sentences: ReplyToken[][] = [[]];
  for (const token of tokens) {
    sentences.at(-1)?.push(token);
    if (token.kind === "mark" && ".!?;".includes(token.text)) sentences.push([]);
  }
  return sentences.filter((sentence) => sentence.length > 0);
}

const OTHER_SUBJECTS = new Set(["you", "user", "they", "he", "she", "to", "which", "following:"]);

function headingVerb(
  tokens: readonly ReplyToken[],
  found: readonly Assertion[],
): ClaimedVerb | undefined {
  const last = tokens.at(-1);
  if (found.length > 0 || last?.kind !== "mark" || last.text !== ":" || tokens.length > 16)
    return undefined;
  if (isHedged(tokens, tokens.length)) return undefined;
  if (tokens.some((token) => token.kind === "word" && OTHER_SUBJECTS.has(token.text)))
    return undefined;
  const verbs = new Set(tokens.map(verbOf).filter((verb) => verb !== undefined));
  const [verb] = verbs;
  return verbs.size === 1 ? verb : undefined;
}

/** In a list below a heading with a verb, each item begins with its path. */
function listedPaths(
  tokens: readonly ReplyToken[],
  heading: ClaimedVerb | undefined,
): readonly Assertion[] {
  const [first] = tokens;
  if (heading === undefined || first?.kind !== "path") return [];
  return [{ path: first.path, certain: first.certain, verb: heading }];
}
