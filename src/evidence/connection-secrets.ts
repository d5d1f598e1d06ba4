import { spansOf, type SecretSpan } from "./secret-span.ts";

const RULE = "connection";

/** Names under which a password stands in addresses, connection strings and settings. */
const PASSWORD =
  "(?:[A-Za-z0-9_.-]{0,40}(?:[Pp]ass(?:[Ww]ord|wd|phrase)|PASSW(?:OR)?D|PASSPHRASE)|pwd|Pwd)";

/** `scheme://user:`, in text or in JSON that escapes its slashes. What follows may be a password. */
const USER = /([a-z][a-z0-9+.-]{0,40}):\\{0,3}\/\\{0,3}\/[^\s:/?#"'<>\\]{0,256}:/gi;

/** What stands in every address that could hold a password: quicker to look for than the whole of it. */
const AUTHORITY = /:\\{0,3}\/\\{0,3}\//;
const JDBC = /jdbc:/i;

/** `jdbc:oracle:thin:user/password@host`. */
const JDBC_USER = /jdbc:[a-z0-9]{1,20}:[a-z0-9]{1,20}:[^\s/:@"']{1,128}\/([^\s@"']{1,256})@/dgi;

/** `?password=...` and `;password=...`, up to the next parameter. */
const PARAMETER = new RegExp(`[?&;]${PASSWORD}=([^&\\s;"'<>\\\\]{1,512})`, "dg");

/** `password=...` of a connection string or a setting: bare, in quotes, or in braces. */
const KEYWORD = new RegExp(
  `(?<![A-Za-z0-9_.?&-])${PASSWORD}=('(?:\\\\.|''|[^'\\\\])*'|"(?:\\\\.|[^"\\\\])*"|\\{[^}\\s]{1,256}\\}|[^\\s;&,"'()<>\\\\]{1,512})`,
  "dg",
);

/** The same with blanks around the sign, where it stands among other words of a connection string. */
const SPACED_KEYWORD = new RegExp(
  `\\b(?:[Hh]ost|hostaddr|[Uu]ser|dbname|[Pp]ort|[Ss]erver|[Uu]id|User I[Dd]|Data Source)\\s{0,4}=\\s{0,4}[^\\n]{0,200}?\\b${PASSWORD}\\s{0,4}=\\s{0,4}('(?:\\\\.|[^'\\\\])*'|[^\\s;,"']{1,512})`,
  "dg",
);

/** `"password": "..."` in JSON and its like, and the same inside a JSON text that was escaped once more. */
const MEMBERS = [
  new RegExp(
    `(["'])${PASSWORD}\\1\\s{0,9}:\\s{0,9}(["'])((?:\\\\[\\s\\S]|(?!\\2)[^\\\\])*)\\2`,
    "dg",
  ),
  new RegExp(
    `\\\\"${PASSWORD}\\\\"\\s{0,9}:\\s{0,9}(\\\\")((?:\\\\\\\\\\\\"|\\\\\\\\\\\\\\\\|(?!\\\\")[\\s\\S])*?)\\1`,
    "dg",
  ),
];

/** Text in place of a password that is none: a variable, a placeholder, an expression. */
const NO_PASSWORD =
  /^['"{]?(?:$|\$|%|\*+|<|\.{3}|x{3,}$|(?:null|none|undefined|true|false|string)\b|process\.|os\.|env\.|self\.|this\.|[\w.]+[([])/i;

const PASSWORD_KEY = new RegExp(`^${PASSWORD}$`);

/** True for the key of a member that holds a password. */
export function isPasswordKey(key: string): boolean {
  return PASSWORD_KEY.test(key);
}

/** Passwords in addresses (`postgres://u:p@h`), parameters, connection strings of keywords, JDBC, and JSON members. */
export function connectionSecrets(text: string): readonly SecretSpan[] {
  const inUrls = AUTHORITY.test(text) || JDBC.test(text) ? urlSecrets(text) : [];
  if (!/passw|passphrase|pwd/i.test(text)) return inUrls;
  const named = [
    ...spansOf(text, PARAMETER, { rule: RULE, group: 1 }),
    ...spansOf(text, KEYWORD, { rule: RULE, group: 1 }),
    ...spansOf(text, SPACED_KEYWORD, { rule: RULE, group: 1 }),
    ...spansOf(text, MEMBERS[0] ?? /$^/dg, { rule: RULE, group: 3 }),
    ...spansOf(text, MEMBERS[1] ?? /$^/dg, { rule: RULE, group: 2 }),
  ];
  return [
    ...inUrls,
    ...named
      .filter(({ start, end }) => !NO_PASSWORD.test(text.slice(start, end)))
      .map((span) => withoutQuotes(text, span)),
  ];
}

function withoutQuotes(text: string, span: SecretSpan): SecretSpan {
  const { start, end } = span;
  const isQuoted = end - start > 2 && /^(['"]).*\1$|^\{.*\}$/s.test(text.slice(start, end));
  return isQuoted ? { ...span, start: start + 1, end: end - 1 } : span;
}

function urlSecrets(text: string): readonly SecretSpan[] {
  const inJdbc = spansOf(text, JDBC_USER, { rule: RULE, group: 1 });
  const inUrls = [...text.matchAll(USER)].flatMap(({ 0: head, 1: scheme = "", index }) => {
    const start = index + head.length;
    const quote = /["'`]/.test(text.charAt(index - 1)) ? text.charAt(index - 1) : undefined;
    const line = /^[^\n\r]*/.exec(text.slice(start, start + MAX_PASSWORD)) ?? [""];
    const length = passwordLength(untilQuote(line[0], quote), isWeb(scheme));
    return length > 0 ? [{ start, end: start + length, rule: RULE }] : [];
  });
  return [...inJdbc, ...inUrls];
}

const MAX_PASSWORD = 1_024;

function untilQuote(line: string, quote: string | undefined): string {
  if (quote === undefined) return line;
  const end = line.indexOf(quote);
  return end === -1 ? line : line.slice(0, end);
}

/** In these, a slash always ends the authority. */
function isWeb(scheme: string): boolean {
  return /^(?:https?|wss?|ftps?|file)$/i.test(scheme);
}

/** How many characters of what follows `scheme://user:` are a password: up to the last @ of the authority; 0 for a port. */
function passwordLength(rest: string, web: boolean): number {
  const word = headIn(rest, /^\S*/);
  const authority = headIn(word, /^[^/?#]*/);
  const isPort = /^\d{0,5}$/.test(authority);
  if (web) return isPort ? 0 : Math.max(0, word.lastIndexOf("@"));
  if (!word.includes("@")) return isPort ? 0 : lengthAcrossBlanks(rest, word);
  return lengthInWord(rest, word, authority);
}

function headIn(text: string, pattern: RegExp): string {
  return pattern.exec(text)?.[0] ?? "";
}

function lengthInWord(rest: string, word: string, authority: string): number {
  const within = authority.lastIndexOf("@");
  const isWhole = within !== -1 && !hasOwnAt(word.slice(authority.length));
  const end = isWhole ? within : word.lastIndexOf("@");
  // A host without a dot or port, and an @ in the next word: the blank stood within the password.
  const isBareHost = /^[\w-]*$/.test(word.slice(end + 1));
  const next = headIn(rest.slice(word.length), /^ \S*@\S*/);
  return isBareHost && next !== "" ? word.length + next.lastIndexOf("@") : end;
}

/** True where an @ stands behind the authority in another place than a parameter's value. */
function hasOwnAt(tail: string): boolean {
  return tail.replaceAll(/[?&;][\w.-]+=[^&;]*/g, "").includes("@");
}

/** A password with blanks: up to the @ of one of the next words. */
function lengthAcrossBlanks(rest: string, word: string): number {
  const more = headIn(rest.slice(word.length), /^(?:[ \t]\S*){1,5}?@\S*/);
  return more === "" ? 0 : word.length + more.lastIndexOf("@");
}
