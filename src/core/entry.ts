import { z } from "zod";
import { Change } from "./change.ts";
import { GapCode } from "./gap.ts";
import { Digest } from "./ids.ts";
import { maskVariants } from "./mask.ts";
import { matchContent, type Finding } from "./match-content.ts";
import { matcherFingerprint, type Matcher } from "./matcher.ts";
import { Row } from "./row.ts";
import { Encoding, type Content } from "./text.ts";
import { Timestamp } from "./timestamp.ts";

export const EntryType = z.enum([
  "file",
  "directory",
  "link",
  "fifo",
  "socket",
  "block_device",
  "character_device",
  "other",
  "table",
  "row",
]);
export type EntryType = z.infer<typeof EntryType>;

/**
 * What was kept of a content: text as it was read, or base64 where `encoding` is "binary". `redacted`: secrets were removed,
 * and what each of its masks stands for is not known.
 */
export const RetainedContent = z
  .object({
    encoding: Encoding,
    value: z.string(),
    truncated: z.boolean(),
    redacted: z.boolean().optional(),
  })
  .readonly();
export type RetainedContent = z.infer<typeof RetainedContent>;

/** What a matcher found over the full content when it was read; the key is the matcher's fingerprint. */
export const RecordedFinding = z
  .object({ matcher: Digest, finding: z.enum(["present", "absent"]) })
  .readonly();
export type RecordedFinding = z.infer<typeof RecordedFinding>;

/**
 * A location at one moment. Every field comes from one open handle. `sha256` is there only where every byte was read;
 * `unread` says why not. `nameBytes` (base64 of the path below the root) is there where a name is not UTF-8.
 */
export const EntryState = z
  .object({
    type: EntryType,
    sizeBytes: z.int().min(0),
    mode: z.int().min(0).optional(),
    owner: z
      .object({ uid: z.int().min(0), gid: z.int().min(0) })
      .readonly()
      .optional(),
    modifiedAt: Timestamp.optional(),
    changedAt: Timestamp.optional(),
    bornAt: Timestamp.optional(),
    links: z.int().min(0).optional(),
    linkTarget: z.string().optional(),
    sha256: Digest.optional(),
    content: RetainedContent.optional(),
    findings: z.array(RecordedFinding).readonly().optional(),
    /** The columns of a row. Its `content` is their values as text, joined by `COLUMN_SEPARATOR`. */
    row: Row.optional(),
    /** How a table is defined. */
    definition: z.string().optional(),
    unread: z.object({ code: GapCode, detail: z.string().optional() }).readonly().optional(),
  })
  .readonly()
  .refine(
    ({ content, sha256 }) =>
      content === undefined ||
      content.truncated ||
      content.redacted === true ||
      sha256 !== undefined,
    "content without a digest must be marked truncated",
  );
export type EntryState = z.infer<typeof EntryState>;

/**
 * A location and what the run did to it. `now` is absent where it is gone, `before` where it was not there or is not known.
 * `moved` names where it was in `from`, and counts as deleted there.
 */
export const SurfaceEntry = z
  .object({
    uri: z.string().min(1),
    nameBytes: z.base64().optional(),
    /** True where a secret was removed from a name in `uri`, `from` or `partOf`. */
    redacted: z.boolean().optional(),
    /** The location of which this is a part, as a row is of its table: a question about the whole is about its parts. */
    partOf: z.string().min(1).optional(),
    change: Change,
    from: z.string().min(1).optional(),
    now: EntryState.optional(),
    before: EntryState.optional(),
    /** Why the change is not known; there exactly when it is "unknown". */
    reasons: z.array(GapCode).readonly().optional(),
  })
  .readonly()
  .refine(
    (entry) => (entry.change === "deleted") === (entry.now === undefined),
    "an entry lacks `now` exactly when it was deleted",
  )
  .refine(
    (entry) => (entry.change === "moved") === (entry.from !== undefined),
    "an entry has `from` exactly when it was moved",
  )
  .refine(
    (entry) =>
      (entry.change === "unknown") === (entry.reasons !== undefined && entry.reasons.length > 0),
    "an entry has reasons exactly when its change is not known",
  );
export type SurfaceEntry = z.infer<typeof SurfaceEntry>;

/**
 * True where a pattern names the entry, what it is a part of, or where it was. A name from which a secret was removed is named
 * only by a pattern that would name it whatever it was.
 */
export function isNamedBy(
  glob: { matches(uri: string): boolean },
  { uri, from, partOf, redacted }: Pick<SurfaceEntry, "uri" | "from" | "partOf" | "redacted">,
): boolean {
  return [uri, from, partOf].some((place) => {
    if (place === undefined) return false;
    const readings = redacted === true ? maskVariants(place) : [place];
    return readings.every((reading) => glob.matches(reading));
  });
}

/** The kept content as a matcher reads it. */
export function contentOfState(state: EntryState): Content | undefined {
  const kept = state.content;
  if (kept === undefined) return undefined;
  const whole = !kept.truncated;
  if (kept.encoding !== "binary") {
    const text = { encoding: kept.encoding, text: kept.value, whole };
    return kept.redacted === true ? { ...text, redacted: true } : text;
  }
  return { encoding: "binary", bytes: bytesOfBase64(kept.value), whole };
}

function bytesOfBase64(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/**
 * Decides a matcher over a location: by what was recorded when the whole of it was read, else by what was kept.
 * A directory or special file holds no content.
 */
export function matchState(matcher: Matcher | undefined, state: EntryState): Finding {
  if (!holdsContent(state)) return { value: "absent" };
  const recorded = matcher === undefined ? undefined : recordedFinding(matcher, state);
  if (recorded !== undefined) return { value: recorded };
  // The size of a link that was not read through is that of the link.
  if (state.type !== "file" && state.unread !== undefined && state.sha256 === undefined)
    return { value: "unknown", reason: state.unread.code };
  const finding = matchContent(matcher, state, contentOfState(state));
  if (finding.value !== "unknown" || state.unread === undefined) return finding;
  return { value: "unknown", reason: state.unread.code };
}

/** True for what can hold written content: a file, or a link that was resolved to one. */
export function holdsContent(state: EntryState): boolean {
  return (
    state.type === "file" ||
    state.content !== undefined ||
    state.sha256 !== undefined ||
    state.unread !== undefined
  );
}

function recordedFinding(matcher: Matcher, state: EntryState): "present" | "absent" | undefined {
  if (state.findings === undefined || state.findings.length === 0) return undefined;
  const wanted = matcherFingerprint(matcher);
  return state.findings.find((each) => each.matcher === wanted)?.finding;
}
