/** How long a failure's text may be. */
const MAX_CHARACTERS = 2_000;

/** What stands between the scheme and the last @ of a URL's authority. */
const CREDENTIALS =
  /(?<scheme>[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,400}(?:@[^\s/@]{0,400}){0,8}@/gi;

/** A failure's text for people: URL credentials masked, at most 2 000 characters. */
export function maskedText(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
  return cut.replace(CREDENTIALS, "$<scheme>***@");
}
