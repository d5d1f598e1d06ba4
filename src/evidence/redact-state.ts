import type { EntryState, RecordedFinding, RetainedContent } from "../core/entry.ts";
import type { Digest } from "../core/ids.ts";
import type { Column, Row } from "../core/row.ts";
import { redactName } from "./redact-place.ts";
import { redactValue } from "./redact-value.ts";
import type { Redactor } from "./redactor.ts";

interface How {
  readonly redactor: Redactor;
  /** Matchers that name a secret: what they found would give it away. */
  readonly needles: ReadonlySet<Digest>;
}

/**
 * A location at one moment without secrets: the very same where it holds none. Where its content lost one, the digest goes too: it
 * could be guessed from.
 */
export function redactState(state: EntryState, how: How): EntryState {
  const { content, row, findings, sha256, ...rest } = state;
  const masked = {
    content: content && redactContent(content, how.redactor),
    row: row && redactRow(row, how.redactor),
    findings: findings && findingsToTell(findings, how),
  };
  const told = redactTold(rest, how.redactor);
  const isRedacted = masked.content !== content || masked.row !== row;
  if (!isRedacted && told === rest && masked.findings === findings) return state;
  return present({
    ...told,
    ...hidden(content, masked.content, how),
    ...masked,
    ...(isRedacted ? { content: marked(masked.content) } : { sha256 }),
  });
}

/** Without its digest, a content has to say why. */
function marked(content: RetainedContent | undefined): RetainedContent | undefined {
  return content && { ...content, redacted: true };
}

function findingsToTell(
  findings: readonly RecordedFinding[],
  { needles }: How,
): readonly RecordedFinding[] {
  const told = findings.filter(({ matcher }) => !needles.has(matcher));
  return told.length === findings.length ? findings : told;
}

type Told = Omit<EntryState, "content" | "row" | "findings" | "sha256">;

/** Of what is told of a state, these texts are the world's; the rest is of our own making. */
function redactTold(rest: Told, redactor: Redactor): Told {
  const { linkTarget, definition, unread } = rest;
  if (linkTarget === undefined && definition === undefined && unread === undefined) return rest;
  const target = linkTarget && redactName(linkTarget, redactor);
  const texts = present({ definition, unread });
  const masked = redactValue(texts, redactor.mask);
  if (masked === texts && target === linkTarget) return rest;
  return present({ ...rest, ...masked, linkTarget: target });
}

/** The members that are there. */
export function present<T extends object>(members: T): T {
  const defined = Object.entries(members).filter(([, value]) => value !== undefined);
  // What is left out was undefined.
  return Object.fromEntries(defined) as T;
}

/** Of content that cannot be shown without its secret, what would tell why. */
function hidden(
  content: RetainedContent | undefined,
  shown: RetainedContent | undefined,
  { redactor }: How,
): Pick<EntryState, "unread"> {
  if (content === undefined || shown !== undefined) return {};
  const detail = redactor.maskWhole(content.value, "binary");
  return { unread: { code: "content_redacted", detail } };
}

/** The content with masks; undefined where it is no text and holds a secret: nothing of it could be read without it. */
function redactContent(content: RetainedContent, redactor: Redactor): RetainedContent | undefined {
  if (content.encoding === "binary") {
    const bytes = atob(content.value);
    return redactor.mask(bytes) === bytes ? content : undefined;
  }
  const value = content.truncated ? redactor.maskHead(content.value) : redactor.mask(content.value);
  return value === content.value ? content : { ...content, value, redacted: true };
}

function redactRow(row: Row, redactor: Redactor): Row {
  const columns = row.columns.map((column) => redactColumn(column, redactor));
  const key = row.key.map((name) => redactor.mask(name));
  const isSame =
    columns.every((column, index) => column === row.columns[index]) &&
    key.every((name, index) => name === row.key[index]);
  return isSame ? row : { ...row, columns, key };
}

function redactColumn(column: Column, redactor: Redactor): Column {
  const name = redactor.mask(column.name);
  const { value } = column;
  const masked =
    value === null
      ? null
      : column.cut === undefined
        ? redactor.mask(value)
        : redactor.maskHead(value);
  if (masked === value && name === column.name) return column;
  return { ...column, name, value: masked, ...(masked === value ? {} : { redacted: true }) };
}
