import { isUtf8 } from "node:buffer";
import { Digest } from "../../core/ids.ts";
import { matchContent } from "../../core/match-content.ts";
import type { Matcher } from "../../core/matcher.ts";
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
  return (head, isWhole, sha256) =>
    (isWhole ? quick?.(head) : undefined) ?? slowProbe(matcher, head, isWhole, sha256);
}

function slowProbe(
  matcher: Matcher,
  head: Buffer,
  isWhole: boolean,
  sha256: string | undefined,
): Found {
  const digest = sha256 === undefined ? undefined : Digest.parse(`sha256:${sha256}`);
  const facts = { sizeBytes: head.length, sha256: digest };
  return FOUND[matchContent(matcher, facts, contentOf(head, isWhole)).value];
}

/** Letters beyond ASCII whose composed form is ASCII: the Greek question mark, the Greek varia, the kelvin sign. */
const ASCII_IN_DISGUISE = ["\u037E", "\u1FEF", "\u212A"].map((letter) => Buffer.from(letter));

/**
 * The commonest question, answered on the bytes: whole UTF-8 without a NUL in which an ASCII text stands or does not. In UTF-8
 * its bytes are the text wherever they stand. Undefined where the text has to be read.
 */
function quickProbe(matcher: Matcher): ((head: Buffer) => Found | undefined) | undefined {
  if (matcher.kind !== "contains" || !matcher.caseSensitive || matcher.alsoEncoded.length > 0)
    return undefined;
  if (!/^[\x20-\x7e]+$/.test(matcher.value)) return undefined;
  const wanted = Buffer.from(matcher.value, "latin1");
  return (head) => {
    if (head.includes(0) || !isUtf8(head)) return undefined;
    if (head.includes(wanted)) return FOUND.present;
    return ASCII_IN_DISGUISE.some((letter) => head.includes(letter)) ? undefined : FOUND.absent;
  };
}
