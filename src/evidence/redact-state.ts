import type { EntryState, RetainedContent } from "../core/entry.ts";
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

/** A location at one moment without secrets. Where its content lost one, the digest goes too: it could be guessed from. */
export function redactState(state: EntryState, { redactor, needles }: How): EntryState {
  const { content, row, findings, sha256, linkTarget, ...rest } = state;
  const shown = row && redactRow(row, redactor);
  const kept = content && redactContent(content, redactor);
  const isRedacted = kept !== content || shown !== row;
  return {
    ...redactValue(rest, redactor.mask),
    ...(linkTarget === undefined ? {} : { linkTarget: redactName(linkTarget, redactor) }),
    ...(content === undefined || kept !== undefined ? {} : hidden(content, redactor)),
    ...(isRedacted ? {} : present({ sha256 })),
    ...present({
      content: kept && marked(kept, isRedacted),
      findings: findings?.filter(({ matcher }) => !needles.has(matcher)),
      row: shown,
    }),
  };
}

/** The members that are there. */
function present<T extends object>(members: T): T {
  const defined = Object.entries(members).filter(([, value]) => value !== undefined);
  // What is left out was undefined.
  return Object.fromEntries(defined) as T;
}

function hidden(content: RetainedContent, redactor: Redactor): Pick<EntryState, "unread"> {
  const detail = redactor.maskWhole(content.value, "binary");
  return { unread: { code: "content_redacted", detail } };
}

/** Without its digest, a content has to say why. */
function marked(content: RetainedContent, isRedacted: boolean): RetainedContent {
  return isRedacted ? { ...content, redacted: true } : content;
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
