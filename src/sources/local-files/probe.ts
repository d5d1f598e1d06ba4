import { isAscii, isUtf8 } from "node:buffer";
import { Digest } from "../../core/ids.ts";
import { matchContent } from "../../core/match-content.ts";
import type { Matcher } from "../../core/matcher.ts";
import { byteForms } from "../../core/needle.ts";
import { contentOf } from "../../core/text.ts";
import type { Prober } from "./list-reader.ts";
import { FOUND, type Found } from "./reading-list.ts";

/** Runs matchers over contents as they are read. The answers are those of `matchContent`. */
export function proberOf(probes: readonly Matcher[]): Prober {
  const single = probes.map(probeOf);
  return (head, isWhole, sha256) => single.map((probe) => probe(head, isWhole, sha256));
}

function probeOf(
  matcher: Matcher,
): (head: Buffer, isWhole: boolean, sha256: string | undefined) => Found {
  const quick = quickProbe(matcher);
  const inBytes = probeOfBytes(matcher);
  return (head, isWhole, sha256) => {
    const quickly = quick?.(head, isWhole);
    if (quickly !== undefined) return quickly;
    const content = contentOf(head, isWhole);
    if (content.encoding === "binary" && inBytes !== undefined) return inBytes(head);
    const digest = sha256 === undefined ? undefined : Digest.parse(`sha256:${sha256}`);
    const facts = { sizeBytes: head.length, sha256: digest };
    return FOUND[matchContent(matcher, facts, content).value];
  };
}

/** In content that is no text, a text's own bytes are a witness, and their absence is no answer. Undefined where more is asked. */
function probeOfBytes(matcher: Matcher): ((head: Buffer) => Found) | undefined {
  if (matcher.kind !== "contains" || !matcher.caseSensitive || matcher.alsoEncoded.length > 0)
    return undefined;
  const forms = byteForms(matcher).map((form) => Buffer.from(form));
  return (head) => (forms.some((form) => head.includes(form)) ? FOUND.present : FOUND.unknown);
}

/** Letters beyond ASCII whose composed form is ASCII: the Greek question mark, the Greek varia, the kelvin sign. */
const ASCII_IN_DISGUISE = ["\u037E", "\u1FEF", "\u212A"].map((letter) => Buffer.from(letter));

/**
 * The commonest question, answered on the bytes: UTF-8 without a NUL in which an ASCII text stands or does not. In UTF-8 its
 * bytes are the text wherever they stand; of a head that was cut, only what is there can be told. Undefined where the text has
 * to be read.
 */
function quickProbe(
  matcher: Matcher,
): ((head: Buffer, isWhole: boolean) => Found | undefined) | undefined {
  if (matcher.kind !== "contains" || !matcher.caseSensitive || matcher.alsoEncoded.length > 0)
    return undefined;
  if (!/^[\x20-\x7e]+$/.test(matcher.value)) return undefined;
  const wanted = Buffer.from(matcher.value, "latin1");
  return (head, isWhole) => {
    if (head.includes(0)) return undefined;
    const ascii = isAscii(head);
    if (!ascii && !isUtf8(isWhole ? head : withoutCut(head))) return undefined;
    if (head.includes(wanted)) return FOUND.present;
    if (!ascii && ASCII_IN_DISGUISE.some((letter) => head.includes(letter))) return undefined;
    return isWhole ? FOUND.absent : FOUND.unknown;
  };
}

/** A head without the character that the cut may have gone through. */
function withoutCut(head: Buffer): Buffer {
  let end = head.length;
  while (end > 0 && head.length - end < 4 && ((head[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  const isFirst = end > 0 && (head[end - 1] ?? 0) >= 0xc0;
  return head.subarray(0, isFirst ? end - 1 : end);
}
