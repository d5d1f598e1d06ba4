import { UpheldError } from "../core/errors.ts";

/** A collector and the token for it. */
export interface Destination {
  /** Ends without a slash; holds no credentials, query or fragment. */
  readonly url: string;
  readonly token: string;
}

/**
 * The address of a collector as it is kept. Throws "argument_invalid" where it is none, where it holds what must not be
 * kept (credentials, a query), and where it is neither https nor on this machine: the token would travel in the open.
 */
export function collectorUrl(text: string): string {
  const url = parsedUrl(text);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw refused("it must hold no user, password, query or fragment");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname)))
    throw refused("https is expected beyond this machine");
  return url.href.replace(/\/+$/, "");
}

/** The parser's own error would quote the text, credentials and all. */
function parsedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw refused("it is no URL");
  return url;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * A token as it goes into a header. Throws "argument_invalid" where it is empty or holds what no header may.
 */
export function collectorToken(text: string | undefined, from: string): string {
  if (text === undefined || text === "")
    throw new UpheldError("argument_invalid", `${from} is not set: it should hold the token`);
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return text;
  throw new UpheldError(
    "argument_invalid",
    `${from} holds no token: 1 to 4096 ASCII characters without spaces are expected`,
  );
}

function refused(what: string): UpheldError {
  return new UpheldError("argument_invalid", `the address of the collector is refused: ${what}`);
}
