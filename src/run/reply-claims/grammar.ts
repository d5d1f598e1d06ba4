import type { ReplyToken } from "./tokens.ts";

/** What a reply says was done to a path. */
export type ClaimedVerb = "created" | "written" | "modified" | "deleted" | "moved";

/** A path and what a sentence says was done to it. */
export interface Assertion {
  readonly path: string;
  readonly certain: boolean;
  readonly verb: ClaimedVerb;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const VERBS: ReadonlyMap<string, ClaimedVerb> = new Map([
  ...entriesOf("created", "created generated produced added scaffolded initialized"),
  ...entriesOf("written", "wrote written saved stored exported dumped downloaded placed copied"),
  ...entriesOf(
    "modified",
    "updated modified edited changed rewrote rewritten overwrote overwritten appended refactored patched fixed corrected adjusted reformatted replaced inserted extended",
  ),
  ...entriesOf("deleted", "deleted removed erased unlinked"),
  ...entriesOf("moved", "moved renamed"),
]);

function entriesOf(verb: ClaimedVerb, forms: string): [string, ClaimedVerb][] {
  return forms.split(" ").map((form) => [form, verb]);
}

/** Any of these before the verb, and the sentence does not say that it was done. */
const HEDGES = words(
  "not never no nothing none neither nor without cannot would will should shall could can may might must going if unless whether when once before until till after while try tried tries attempt attempted attempting failed fails unable please want wanted wants need needs needed plan planned plans intend intended expect expected supposed asked asks said says claimed claims example suppose assume assuming imagine hypothetically almost nearly instead let let's yet previously earlier yesterday ago last pretend pretended wish hoped hope told tell instructed refused declined avoid skipped being unless",
);
/** Any of these between the verb and the path, and the path is something else than its object. */
const BREAKS = words(
  "for of about based using with that which who because so since by via like than according against per if when where described defined listed mentioned specified imported nothing no not none neither i you between whether how what why they is was were are matching referencing reading reads similar",
);
const ADVERBS = words(
  "successfully also then just now finally already have has 've had newly completely fully carefully first next both",
);
const AUXILIARIES = words("was were been");
const FIRST_PERSON = words("i we i've we've i'd we'd");
const OTHERS = words(
  "you he she they it user which that who someone somebody nobody you've they've it's client customer server author maintainer",
);
/** What was made may stand before the verb: "Report saved to out.pdf". */
const PRODUCTS = words(
  "file files report reports output outputs result results data summary log logs changes document documents image images plot chart script config configuration copy backup code contents content everything all text table test tests analysis notes",
);
const PLACES = words("to in into at as under inside onto");
const BY = words("by");
const FROM = words("from");
const CONJUNCTIONS = words("and then but &");
const PRONOUNS = words("it they");
const FILE_WORDS = words("file files");
const OPENING_WORDS = words("the file new");
const TARGET_WORDS = words("to as into the");
const OTHER_TIMES = words("yesterday ago last earlier previously before when if");
const TIME_WORDS = words("in on since");
const US = words("me us");
const LISTING = words("and plus & also as well the a an new file files");

const isWord = (token: ReplyToken | undefined, set: ReadonlySet<string>): boolean =>
  token?.kind === "word" && set.has(token.text);
const isMark = (token: ReplyToken | undefined, marks: string): boolean =>
  token?.kind === "mark" && marks.includes(token.text);

/** The verb of a token, if it is one. */
export function verbOf(token: ReplyToken | undefined): ClaimedVerb | undefined {
  return token?.kind === "word" ? VERBS.get(token.text) : undefined;
}

/** True where a sentence asks, doubts, denies or tells of another time before this place. */
export function isHedged(tokens: readonly ReplyToken[], end: number): boolean {
  return tokens
    .slice(clauseStart(tokens, end), end)
    .some(
      (token) =>
        isWord(token, HEDGES) || (token.kind === "word" && /n't$|'ll$|'d$/.test(token.text)),
    );
}

/** A clause begins anew after "but". */
function clauseStart(tokens: readonly ReplyToken[], end: number): number {
  for (let at = end - 1; at >= 0; at -= 1) {
    const token = tokens[at];
    if (token?.kind === "word" && token.text === "but") return at + 1;
  }
  return 0;
}

/** What one sentence says was done. A question says nothing. */
export function assertionsOf(tokens: readonly ReplyToken[]): readonly Assertion[] {
  if (tokens.length > 400 || isMark(tokens.at(-1), "?")) return [];
  return tokens.flatMap((token, at) => {
    const verb = verbOf(token);
    if (verb === undefined || isHedged(tokens, at)) return [];
    const subject = subjectOf(tokens, at);
    const before = pathBefore(tokens, at, verb, subject);
    if (before !== undefined) return [before];
    return isOurs(tokens, subject) ? objectsOf(tokens, at, verb) : [];
  });
}

interface Subject {
  /** Where it stands; -1 where the verb begins the sentence. */
  readonly at: number;
  /** "was written": what was written stands before. */
  readonly passive: boolean;
}

function subjectOf(tokens: readonly ReplyToken[], verbAt: number): Subject {
  let at = verbAt - 1;
  let passive = false;
  while (isWord(tokens[at], ADVERBS) || isWord(tokens[at], AUXILIARIES)) {
    passive ||= isWord(tokens[at], AUXILIARIES);
    at -= 1;
  }
  return { at, passive };
}

/** True where the subject of a verb is the speaker, left out, or the thing that was made. */
function isOurs(tokens: readonly ReplyToken[], { at, passive }: Subject): boolean {
  const subject = tokens[at];
  const earlier = tokens.slice(0, Math.max(0, at));
  if (isWord(subject, PRODUCTS)) return isShortSubject(earlier);
  if (isWord(subject, PRONOUNS)) return passive;
  return !passive && isSpeaker(subject, earlier);
}

function isSpeaker(subject: ReplyToken | undefined, earlier: readonly ReplyToken[]): boolean {
  if (subject === undefined || isMark(subject, ":-.;!)")) return true;
  if (isWord(subject, FIRST_PERSON)) return true;
  return (isWord(subject, CONJUNCTIONS) || isMark(subject, ",&")) && carriesSubject(earlier);
}

/** "I read a.txt and wrote b.txt": the subject of the first verb is that of the second. */
function carriesSubject(earlier: readonly ReplyToken[]): boolean {
  if (earlier.some((token) => isWord(token, OTHERS))) return false;
  return earlier.some((token) => isWord(token, FIRST_PERSON)) || verbOf(earlier[0]) !== undefined;
}

function isShortSubject(earlier: readonly ReplyToken[]): boolean {
  return (
    earlier.length <= 3 &&
    earlier.every(
      (token) => token.kind === "word" && !isWord(token, OTHERS) && verbOf(token) === undefined,
    )
  );
}

/** The paths that follow a verb as its objects, or as the place where its object was put. */
function objectsOf(
  tokens: readonly ReplyToken[],
  verbAt: number,
  verb: ClaimedVerb,
): readonly Assertion[] {
  const form = wordAt(tokens, verbAt);
  const first = firstObject(tokens, verbAt + 1, verb);
  if (first === undefined) return [];
  if (form === "moved" || form === "renamed" || form === "copied") {
    const target = targetOf(tokens, first.at);
    if (target !== undefined) return [{ ...target, verb }];
    if (form === "copied") return [];
  }
  const meant = first.place === undefined ? verb : verbAtPlace(verb);
  return pathList(tokens, first.at).map((path) => ({ ...path, verb: meant }));
}

/** "Added tests to a.ts" and "removed a line from a.ts" change a.ts; "created a table in a.db" writes to it. */
function verbAtPlace(verb: ClaimedVerb): ClaimedVerb {
  return verb === "deleted" ? "modified" : verb === "created" ? "written" : verb;
}

interface FirstObject {
  readonly at: number;
  /** The preposition before it. */
  readonly place: string | undefined;
}

function firstObject(
  tokens: readonly ReplyToken[],
  from: number,
  verb: ClaimedVerb,
): FirstObject | undefined {
  let place: string | undefined;
  for (let at = from; at < Math.min(tokens.length, from + 14); at += 1) {
    if (tokens[at]?.kind === "path") return { at, place };
    if (breaksObject(tokens[at], verb)) return undefined;
    const word = wordAt(tokens, at);
    if (word === "from" || PLACES.has(word)) place = word;
  }
  return undefined;
}

/** True where what follows is no longer the object: "a parser that reads ...", "tests for ...". */
function breaksObject(token: ReplyToken | undefined, verb: ClaimedVerb): boolean {
  if (isMark(token, ",.;!?") || verbOf(token) !== undefined) return true;
  if (isWord(token, FROM)) return verb !== "deleted" && verb !== "moved";
  return isWord(token, BREAKS) || isWord(token, HEDGES);
}

/** "moved a.txt to b.txt": the path behind the preposition. */
function targetOf(
  tokens: readonly ReplyToken[],
  from: number,
): { readonly path: string; readonly certain: boolean } | undefined {
  for (let at = from + 1; at < Math.min(tokens.length, from + 6); at += 1) {
    const token = tokens[at];
    if (token?.kind === "path" && isWord(tokens[at - 1], TARGET_WORDS)) return pathOf(token);
    if (isMark(token, "-") && tokens[at + 1]?.kind === "path") return pathOf(tokens[at + 1]);
    if (isMark(token, ",.;")) return undefined;
  }
  return undefined;
}

function pathOf(
  token: ReplyToken | undefined,
): { readonly path: string; readonly certain: boolean } | undefined {
  return token?.kind === "path" ? { path: token.path, certain: token.certain } : undefined;
}

/** "a.txt, b.txt and c.txt" */
function pathList(
  tokens: readonly ReplyToken[],
  from: number,
): readonly { readonly path: string; readonly certain: boolean }[] {
  const found: { readonly path: string; readonly certain: boolean }[] = [];
  let at = from;
  while (at < tokens.length) {
    const path = pathOf(tokens[at]);
    if (path === undefined) break;
    found.push(path);
    at += 1;
    const gapStart = at;
    while (isWord(tokens[at], LISTING) || isMark(tokens[at], ",&")) at += 1;
    if (at === gapStart) break;
  }
  return found;
}

/** "a.txt was written", "a.txt: created", "a.txt created". */
function pathBefore(
  tokens: readonly ReplyToken[],
  verbAt: number,
  verb: ClaimedVerb,
  subject: Subject,
): Assertion | undefined {
  const linked = isMark(tokens[subject.at], ":-(");
  const beforeLink = linked ? subject.at - 1 : subject.at;
  const at = isWord(tokens[beforeLink], FILE_WORDS) ? beforeLink - 1 : beforeLink;
  const path = pathOf(tokens[at]);
  if (path === undefined || isOfAnother(tokens, verbAt)) return undefined;
  if (subject.passive) return { ...path, verb };
  const ends = isEnd(tokens, verbAt + 1);
  if (!isBeginning(tokens, at) || !(linked || ends)) return undefined;
  return { ...path, verb: ends ? verb : "modified" };
}

function isEnd(tokens: readonly ReplyToken[], from: number): boolean {
  return tokens.slice(from).every((token) => isMark(token, ".!)") || isWord(token, ADVERBS));
}

function isBeginning(tokens: readonly ReplyToken[], end: number): boolean {
  return tokens
    .slice(0, end)
    .every((token) => token.kind === "mark" || isWord(token, OPENING_WORDS));
}

/** "was created by the user", "was created in 2019", "was written last week". */
function isOfAnother(tokens: readonly ReplyToken[], verbAt: number): boolean {
  const near = tokens.slice(verbAt + 1, verbAt + 6);
  return near.some(
    (token, index) =>
      isWord(token, OTHER_TIMES) ||
      (isWord(token, BY) && !isWord(near[index + 1], US)) ||
      (isWord(token, TIME_WORDS) && /^\d/.test(wordAt(near, index + 1))),
  );
}

function wordAt(tokens: readonly ReplyToken[], at: number): string {
  const token = tokens[at];
  return token?.kind === "word" ? token.text : "";
}
