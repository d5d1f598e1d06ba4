import { parseStrictJson } from "../../core/strict-json.ts";
import { shownName, type CallValue, type ToolCall } from "../../core/tool-call.ts";

/** Texts that are looked for among the keys of rows, at most. */
const MAX_TERMS = 2_000;
const MAX_TERM_LENGTH = 200;

/** Characters of one text in a call that are split into words. */
const MAX_SPLIT_LENGTH = 8_192;

/** What tool calls speak of: words that name tables, and texts that name rows by their keys. */
export interface CallWords {
  /** Words of the names of tools and their arguments. */
  readonly names: ReadonlySet<string>;
  /** Words of what was given to them. */
  readonly values: ReadonlySet<string>;
  readonly terms: readonly string[];
  readonly termsTotal: number;
}

/** Words of so few letters, or so common, that they name nothing. */
const MIN_WORD_LENGTH = 3;
const STOP_WORDS: ReadonlySet<string> = new Set(
  "add all and are call change create data delete false find for from get has have into item key list make name new not null public read remove row run search select send set show table the this true type update use value was were where with write".split(
    " ",
  ),
);

export function callWords(calls: readonly ToolCall[]): CallWords {
  const sightings = calls.flatMap((call) => call.sightings);
  const given = sightings.flatMap((each) => [...textsOf(each.arguments)]);
  const results = sightings.flatMap((each) => [...textsOf(each.result)]);
  const named = [...calls.map(shownName), ...given.map(({ key }) => key)];
  // What was given stands before what came back: there is room for only so many.
  const terms = new Set([...given, ...results].flatMap(({ text }) => termsOf(text)));
  return {
    names: wordSet(named),
    values: wordSet(given.map(({ text }) => text)),
    terms: [...terms].slice(0, MAX_TERMS),
    termsTotal: terms.size,
  };
}

/** Words that tables are compared with, at most: what comes later decides only which table is shown first. */
const MAX_WORDS = 2_000;

function wordSet(texts: readonly string[]): ReadonlySet<string> {
  return new Set([...new Set(texts.flatMap(wordsOf))].slice(0, MAX_WORDS));
}

/** How much calls have to do with a table: each word of its name counts by the best that matches it. */
export function relevanceOf(tableUri: string, { names, values }: CallWords): number {
  const path = tableUri.slice(tableUri.indexOf(":/") + 2);
  return wordsOf(path).reduce(
    (sum, word) => sum + 2 * bestMatch(word, names) + bestMatch(word, values),
    0,
  );
}

function bestMatch(word: string, others: ReadonlySet<string>): number {
  if (others.has(word)) return 3;
  let best = 0;
  for (const other of others) best = Math.max(best, closeness(word, other));
  return best;
}

/** A prefix is closer than a part; a part of three letters stands in any word by chance. */
function closeness(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (long.startsWith(short)) return 2;
  return short.length > MIN_WORD_LENGTH && long.includes(short) ? 1 : 0;
}

/** Split at underscores, capitals and everything that is no letter or digit; without plural endings. */
function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, MAX_SPLIT_LENGTH)
    .replaceAll(/(\p{Ll}|\d)(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$2 ")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .map(singular)
    .filter((word) => word.length >= MIN_WORD_LENGTH && !STOP_WORDS.has(word));
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}

/** A text as a whole, and the words in a longer one: each may be the key of a row. */
function termsOf(text: string): readonly string[] {
  const whole = text.length > 0 && text.length <= MAX_TERM_LENGTH ? [text] : [];
  const parts = text.slice(0, MAX_SPLIT_LENGTH).match(/[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu) ?? [];
  return [...whole, ...parts.filter((part) => part.length <= MAX_TERM_LENGTH)];
}

/** Every text and number in a value, with the key under which it stands. */
function* textsOf(
  given: CallValue | undefined,
): Generator<{ readonly key: string; readonly text: string }> {
  if (given === undefined) return;
  if (given.kind !== "json") {
    yield { key: "", text: given.kind === "cut" ? given.head : given.text };
    return;
  }
  yield* textsIn({ key: "", value: parseStrictJson(given.text) });
}

/** One level after the other: how deep a call nests is not for the stack to say. */
function* textsIn(first: Member): Generator<{ readonly key: string; readonly text: string }> {
  const open: Member[] = [first];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { key, value } = next;
    if (typeof value === "string" || typeof value === "number") yield { key, text: String(value) };
    else open.push(...membersOf(next).toReversed());
  }
}

interface Member {
  readonly key: string;
  readonly value: unknown;
}

/** What a list holds stands under the key of the list. */
function membersOf({ key, value }: Member): readonly Member[] {
  if (Array.isArray(value)) return value.map((member: unknown) => ({ key, value: member }));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, member]) => ({ key: name, value: member }));
}
