import { canonicalJson, type JsonValue } from "../core/canonical-json.ts";
import type { ClaimAnswer } from "./answer.ts";
import { fencedLine } from "./fence.ts";
import type { Citation } from "./judgment.ts";
import type { ShownExhibit } from "./selection.ts";

/** Looks up what an answer cites among what was shown. */
export function citationsOf(
  { cites }: ClaimAnswer,
  exhibits: readonly ShownExhibit[],
): readonly Citation[] {
  const byId = new Map(exhibits.map((each) => [each.id, each]));
  return cites.map(({ evidence, quote }) => {
    const exhibit = byId.get(evidence);
    const quoted = quote === undefined ? {} : { quote };
    if (exhibit === undefined) return { evidence, ...quoted, found: false };
    const { part, location } = exhibit;
    const found = quote === undefined || holdsQuote(exhibit.value, quote);
    return { evidence, part, location, ...quoted, found };
  });
}

/**
 * Whether a quote occurs in what an exhibit shows: in one of its texts or in its JSON. Both are compared in Unicode form C with runs
 * of white space as one space; JSON escapes of the quote are also tried undone. Upper and lower case differ. A blank quote occurs
 * nowhere.
 */
export function holdsQuote(value: JsonValue, quote: string): boolean {
  const forms = [quote, ...unescaped(quote)].map(normal).filter((form) => form !== "");
  const json = canonicalJson(value);
  const places = [json, fencedLine(json), ...textsOf(value)].map(normal);
  return forms.some((form) => places.some((place) => place.includes(form)));
}

function normal(text: string): string {
  return text.normalize("NFC").replaceAll(/\s+/gu, " ").trim();
}

function unescaped(quote: string): readonly string[] {
  if (!quote.includes("\\")) return [];
  try {
    return [String(JSON.parse(`"${quote}"`))];
  } catch {
    return [];
  }
}

function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
