import { headOf } from "../core/tool-call.ts";
import { maskOf, masksIn } from "../core/mask.ts";
import { connectionSecrets } from "./connection-secrets.ts";
import { secretFinder, type DeclaredSecret, type SecretFinder } from "./declared-secret.ts";
import { privateKeys } from "./private-keys.ts";
import { mergedSpans, type SecretSpan } from "./secret-span.ts";

/** Finds tokens by rules that are kept elsewhere. Spans are of the given text, in no order. */
export type TokenFinder = (text: string) => Promise<readonly SecretSpan[]>;

export interface RedactorOptions {
  /** Secrets that the user names; each has at least `MIN_SECRET_LENGTH` characters. */
  readonly secrets?: readonly DeclaredSecret[];
  /** 12 hex digits for a secret, which only the run's secret gives. */
  readonly nameOf: (secret: string) => string;
  readonly findTokens?: TokenFinder;
}

/** Removes secrets from texts. */
export interface Redactor {
  /** Looks at texts, and asks the token rules about them. Until then, `mask` finds no tokens in them. */
  readonly study: (texts: Iterable<string>) => Promise<void>;
  /** The text with a mask in place of each secret. Masking twice gives the same as once. */
  readonly mask: (text: string) => string;
  /**
   * The same for the head of a text that was cut before: what could be the beginning of a secret at its end goes too, and the
   * result has no more bytes than were given.
   */
  readonly maskHead: (text: string) => string;
  /** A mask for a whole text, whatever stands in it. */
  readonly maskWhole: (text: string, rule: string) => string;
  /** Every mask that was made, with its rule. */
  readonly made: ReadonlyMap<string, string>;
}

/** What joins texts for the token rules: no rule reads across it. */
const BETWEEN = "\n\u0000\n\u0000\n";

/** Characters that are given to the token rules at once. */
const BATCH_LENGTH = 1_000_000;

export function redactorOf({ secrets = [], nameOf, findTokens }: RedactorOptions): Redactor {
  const finders = secrets.map(secretFinder);
  const tokens = new Map<string, readonly SecretSpan[]>();
  /** Texts that were studied and hold nothing. */
  const clean = new Set<string>();
  const made = new Map<string, string>();
  const maskFor = (secret: string, rule: string): string => {
    const mask = maskOf(rule, nameOf(secret));
    made.set(mask, rule);
    return mask;
  };
  const maskedOnce = (text: string, found: readonly SecretSpan[]): string => {
    if (found.length === 0) return text;
    const spans = outsideMasks(text, mergedSpans(found));
    let kept = "";
    let at = 0;
    for (const { start, end, rule } of spans) {
      kept += text.slice(at, start) + maskFor(text.slice(start, end), rule);
      at = end;
    }
    return kept + text.slice(at);
  };
  const mayHoldToken = (text: string): boolean =>
    text.length >= MIN_TOKEN_LENGTH && !tokens.has(text);
  const spansIn = (text: string): readonly SecretSpan[] => [
    ...finders.flatMap(({ find }) => find(text)),
    ...connectionSecrets(text),
    ...privateKeys(text),
    ...(tokens.get(text) ?? []),
  ];
  // A mask can set free what stood beside the secret: where a word begins now, another rule may find one.
  const mask = (text: string): string => {
    if (clean.has(text)) return text;
    let masked = text;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const next = maskedOnce(masked, spansIn(masked));
      if (next === masked) break;
      masked = next;
    }
    return masked;
  };
  const askRules = async (texts: readonly string[]): Promise<void> => {
    if (findTokens === undefined) return;
    for (const batch of batchesOf(texts))
      for (const [text, spans] of await findInBatch(batch, findTokens)) tokens.set(text, spans);
  };
  return {
    made,
    mask,
    maskWhole: maskFor,
    maskHead(text) {
      const { head, rule } = headSpan(text, finders);
      const open = head === text.length ? [] : [{ start: head, end: text.length, rule }];
      const result = mask(maskedOnce(text, [...spansIn(text), ...open]));
      return withinBytes(result, byteLength(text));
    },
    async study(texts) {
      let open = [...new Set(texts)].filter((text) => !clean.has(text));
      for (let round = 0; round < MAX_ROUNDS && open.length > 0; round += 1) {
        await askRules(open.filter(mayHoldToken));
        open = open.flatMap((text) => {
          const next = maskedOnce(text, spansIn(text));
          if (next === text) clean.add(text);
          return next === text ? [] : [next];
        });
      }
    },
  };
}

/** How often a text is looked at again after something in it was masked. */
const MAX_ROUNDS = 8;

/** The fewest characters of a text that the token rules are asked about. */
const MIN_TOKEN_LENGTH = 16;

/** Where the end of a cut text may be the beginning of a secret: of a declared one, or of a word that no rule can read whole. */
function headSpan(
  text: string,
  finders: readonly SecretFinder[],
): { readonly head: number; readonly rule: string } {
  const heads = finders.flatMap(({ name, headAtEnd }) => {
    const head = headAtEnd(text);
    return head === undefined ? [] : [{ head, rule: name }];
  });
  const [first] = heads.toSorted((left, right) => left.head - right.head);
  if (first !== undefined) return first;
  const word = /(?:[a-z][a-z0-9+.-]*:\/\/\S*|[\w+/=.~-]{12,512})$/i.exec(text.slice(-1_024));
  const isToken = word !== null && /:\/\/|\d/.test(word[0]);
  return { head: isToken ? text.length - word[0].length : text.length, rule: "cut" };
}

/** What stands within a mask is none of the world's. */
function outsideMasks(text: string, spans: readonly SecretSpan[]): readonly SecretSpan[] {
  const masks = masksIn(text);
  if (masks.length === 0) return spans;
  let at = 0;
  const places = masks.map((mask) => {
    const start = text.indexOf(mask, at);
    at = start + mask.length;
    return { start, end: at };
  });
  return spans.filter(
    (span) => !places.some(({ start, end }) => span.start >= start && span.end <= end),
  );
}

/** At most so many bytes, ending in a mask where the text does. */
function withinBytes(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text;
  const last = masksIn(text).at(-1);
  const tail = last !== undefined && text.endsWith(last) && last.length <= maxBytes ? last : "";
  const body = headOf(text.slice(0, text.length - tail.length), maxBytes - tail.length);
  // A mask that was cut in two is none, and is not content either.
  return (
    body.replace(/<(?:r(?:e(?:d(?:a(?:c(?:t(?:e(?:d(?::[\w.:-]*)?)?)?)?)?)?)?)?)?$/, "") + tail
  );
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function* batchesOf(texts: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let length = 0;
  for (const text of texts) {
    if (batch.length > 0 && length + text.length > BATCH_LENGTH) {
      yield batch;
      [batch, length] = [[], 0];
    }
    batch.push(text);
    length += text.length + BETWEEN.length;
  }
  if (batch.length > 0) yield batch;
}

/** What the rules find in each text. One that seems to reach into the next is looked at alone. */
async function findInBatch(
  texts: readonly string[],
  findTokens: TokenFinder,
): Promise<ReadonlyMap<string, readonly SecretSpan[]>> {
  const found = new Map<string, readonly SecretSpan[]>();
  const spans = await findTokens(texts.join(BETWEEN));
  if (spans.length === 0) return found;
  let start = 0;
  for (const text of texts) {
    const end = start + text.length;
    const touching = spans.filter((span) => span.start < end && span.end > start);
    if (touching.length > 0)
      found.set(
        text,
        touching.every((span) => span.start >= start && span.end <= end)
          ? touching.map((span) => ({ ...span, start: span.start - start, end: span.end - start }))
          : await findTokens(text),
      );
    start = end + BETWEEN.length;
  }
  return found;
}
