import { canonicalJson, type JsonValue } from "../core/canonical-json.ts";
import { EvidenceKind } from "../core/evidence-kind.ts";
import { headOf } from "../core/tool-call.ts";
import type { Exhibit } from "./exhibits.ts";
import { fencedLine } from "./fence.ts";
import type { JudgeLimits } from "./limits.ts";

/** An exhibit as it stands in a question. */
export interface ShownExhibit {
  /** By this a judge cites it. */
  readonly id: string;
  readonly kind: EvidenceKind;
  readonly part: string;
  readonly location: string;
  readonly value: JsonValue;
  /** The line of the question that holds it. */
  readonly line: string;
}

/** Of one kind: how many are shown of how many, and how many of those were cut. */
export interface Shown {
  readonly shown: number;
  readonly total: number;
  readonly cut: number;
}

export interface Selection {
  readonly exhibits: readonly ShownExhibit[];
  readonly counts: Readonly<Record<EvidenceKind, Shown>>;
}

interface Candidate {
  readonly exhibit: Exhibit;
  readonly value: JsonValue;
  readonly isCut: boolean;
  readonly sizeBytes: number;
}

/** Chooses what a question has room for: each kind gets an equal share first, then what is left goes in order. */
export function selectExhibits(exhibits: readonly Exhibit[], limits: JudgeLimits): Selection {
  const byKind = EvidenceKind.options.map((kind) => exhibits.filter((each) => each.kind === kind));
  const candidates = byKind.map((own) => own.map((each) => candidateOf(each, limits)));
  const share =
    limits.maxEvidenceBytes / Math.max(1, byKind.filter((own) => own.length > 0).length);
  const chosen = new Set(candidates.flatMap((own) => takeWithin(own, share)));
  const left = limits.maxEvidenceBytes - sizeOf([...chosen]);
  const others = candidates.flat().filter((each) => !chosen.has(each));
  for (const each of takeWithin(others, left)) chosen.add(each);
  const shown = candidates.flat().filter((each) => chosen.has(each));
  return { exhibits: shown.map(shownExhibit), counts: countsOf(exhibits, shown) };
}

function takeWithin(candidates: readonly Candidate[], maxBytes: number): readonly Candidate[] {
  const taken: Candidate[] = [];
  let used = 0;
  for (const each of candidates) {
    if (used + each.sizeBytes > maxBytes) continue;
    used += each.sizeBytes;
    taken.push(each);
  }
  return taken;
}

function sizeOf(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/** The share of an exhibit's bytes that its longest texts are cut to, until it fits. */
const CUTS = [1, 0.5, 0.1, 0.02] as const;

/** Room for the id, the kind and the line's end. */
const FRAME_BYTES = 60;

function candidateOf(exhibit: Exhibit, { maxExhibitBytes }: JudgeLimits): Candidate {
  for (const share of CUTS) {
    const { value, isCut } = cutTexts(exhibit.value, Math.floor(maxExhibitBytes * share));
    const sizeBytes = byteLength(fencedLine(canonicalJson(value))) + FRAME_BYTES;
    if (sizeBytes <= maxExhibitBytes + FRAME_BYTES) return { exhibit, value, isCut, sizeBytes };
  }
  // Many short texts: no cut of a single one helps, so it is not shown at all.
  return { exhibit, value: null, isCut: true, sizeBytes: Infinity };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function cutTexts(
  value: JsonValue,
  maxBytes: number,
): { readonly value: JsonValue; readonly isCut: boolean } {
  let isCut = false;
  const visit = (each: JsonValue): JsonValue => {
    if (typeof each === "string") {
      const sizeBytes = byteLength(each);
      if (sizeBytes <= maxBytes) return each;
      isCut = true;
      return { cut: headOf(each, maxBytes), sizeBytes };
    }
    if (typeof each !== "object" || each === null) return each;
    if (isList(each)) return each.map(visit);
    return Object.fromEntries(Object.entries(each).map(([key, member]) => [key, visit(member)]));
  };
  const cut = visit(value);
  return { value: cut, isCut };
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function shownExhibit({ exhibit, value }: Candidate, index: number): ShownExhibit {
  const { kind, part, location } = exhibit;
  const id = `E${index + 1}`;
  const line = fencedLine(canonicalJson({ evidence: id, kind, value }));
  return { id, kind, part, location, value, line };
}

function countsOf(
  exhibits: readonly Exhibit[],
  shown: readonly Candidate[],
): Readonly<Record<EvidenceKind, Shown>> {
  const of = (kind: EvidenceKind): Shown => {
    const own = shown.filter(({ exhibit }) => exhibit.kind === kind);
    return {
      shown: own.length,
      total: exhibits.filter((each) => each.kind === kind).length,
      cut: own.filter(({ isCut }) => isCut).length,
    };
  };
  return {
    transcript: of("transcript"),
    "tool-calls": of("tool-calls"),
    files: of("files"),
    rows: of("rows"),
  };
}
