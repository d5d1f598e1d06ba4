import type { Observation } from "../../core/observation.ts";
import { keyedHex, type RunSecret } from "../salt.ts";
import { hexOf } from "../statement.ts";

/** Replaces, in a value and all that it holds, each digest of content by one that only the run's secret gives. */
export type Veil = <T>(value: T) => T;

/** A location that tells a row without a key, or a long key, by a digest. */
const DIGEST_IN_URI = /[?&]row=([0-9a-f]{32})(?=&|$)|=sha256:([0-9a-f]{64})(?=&|$)/g;
const HEX = /[0-9a-f]{32,64}/g;

/**
 * The digests that observations hold besides those of contents were taken over contents all the same: the world before the run,
 * and rows without a key. One that could be guessed would give away a content that is withheld.
 */
export function veilOf(observations: readonly Observation[], secret: RunSecret): Veil {
  const found = new Set(observations.flatMap(digestsIn));
  if (found.size === 0) return (value) => value;
  const veiled = new Map(
    [...found].map((hex) => [hex, keyedHex(secret, `digest ${hex}`).slice(0, hex.length)]),
  );
  const text = (value: string): string => value.replace(HEX, (hex) => veiled.get(hex) ?? hex);
  // Texts become texts, and everything else keeps its form.
  return <T>(value: T) => mapTexts(value, text) as T;
}

/** The hex digits of every digest outside of contents. */
function digestsIn({ payload }: Observation): readonly string[] {
  if (payload.kind !== "surface") return [];
  const { attribution, scope, entries } = payload;
  return [
    ...[attribution.baseline, scope.scope?.baseline].flatMap((each) =>
      each === undefined ? [] : [hexOf(each)],
    ),
    ...entries.flatMap(({ uri, from = "" }) => [...digestsInUri(uri), ...digestsInUri(from)]),
  ];
}

function digestsInUri(uri: string): readonly string[] {
  return [...uri.matchAll(DIGEST_IN_URI)].flatMap(([, row, key]) => row ?? key ?? []);
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, mapTexts(member, map)]),
  );
}
