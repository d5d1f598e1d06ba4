import { EvidenceKind, evidenceKindOf } from "../core/evidence-kind.ts";
import { foldGaps, gap, type Gap } from "../core/gap.ts";
import { rootOf } from "../core/locator.ts";
import { gapsOf, type Observation, type SurfacePayload } from "../core/observation.ts";
import type { EvidencePart } from "../evidence/statement.ts";
import type { JudgedClaim } from "./claim.ts";
import type { JudgedEvidence } from "./evidence.ts";
import type { Exhibit } from "./exhibits.ts";

/** What a bundle has of one kind of evidence. */
export interface Standing {
  readonly isThere: boolean;
  /** What it lacks. Where there is any gap, nothing can be concluded from what is not in it. */
  readonly gaps: readonly Gap[];
}

export type Standings = Readonly<Record<EvidenceKind, Standing>>;

/** What a bundle has of each kind, and what each lacks. */
export function standingsOf(evidence: JudgedEvidence, exhibits: readonly Exhibit[]): Standings {
  const of = (kind: EvidenceKind): Standing => standingOf(kind, evidence, exhibits);
  return {
    transcript: of("transcript"),
    "tool-calls": of("tool-calls"),
    files: of("files"),
    rows: of("rows"),
  };
}

function standingOf(
  kind: EvidenceKind,
  evidence: JudgedEvidence,
  exhibits: readonly Exhibit[],
): Standing {
  const own = evidence.observations.filter((each) => kindOfObservation(each) === kind);
  const gaps = [
    ...wholeRootsOnly(own).flatMap(({ payload }) => gapsOf(payload)),
    ...own.flatMap(unstatedGaps),
    ...exhibits.filter((each) => each.kind === kind).flatMap((each) => each.gaps),
    ...evidence.parts
      .filter(({ title }) => kindOfPart(title, evidence.roots) === kind)
      .flatMap(gapsOfPart),
  ];
  return { isThere: own.some(hasRecord), gaps: foldGaps(gaps) };
}

function kindOfObservation({ payload }: Observation): EvidenceKind {
  switch (payload.kind) {
    case "surface":
      return evidenceKindOf(payload.scope.surface);
    case "conversation":
      return "transcript";
    case "tools":
      return "tool-calls";
  }
}

/** A file of calls that never came, no span at all, and a root that could not be looked at are no record. */
function hasRecord({ acquisition, payload }: Observation): boolean {
  switch (payload.kind) {
    case "surface":
      return acquisition === "complete" || acquisition === "partial";
    case "conversation":
      return payload.conversation.messages.length > 0 || acquisition === "complete";
    case "tools":
      return payload.calls.length > 0 || payload.recorders.some(({ complete }) => complete);
  }
}

/** The delta of a whole root says all; what was looked at for a single claim, with smaller limits, says nothing more. */
function wholeRootsOnly(observations: readonly Observation[]): readonly Observation[] {
  const whole = new Set(
    observations.flatMap(({ payload }) =>
      payload.kind === "surface" && isWholeRoot(payload) ? [rootOf(payload.scope.uri)] : [],
    ),
  );
  return observations.filter(
    ({ payload }) =>
      payload.kind !== "surface" || isWholeRoot(payload) || !whole.has(rootOf(payload.scope.uri)),
  );
}

function isWholeRoot({ extent, scope }: SurfacePayload): boolean {
  return extent === "delta" && scope.match === "glob" && scope.uri.endsWith(":/**");
}

/** A recorder that does not say that it is whole may lack calls, also where it names no gap. */
function unstatedGaps({ payload }: Observation): readonly Gap[] {
  if (payload.kind !== "tools" || gapsOf(payload).length > 0) return [];
  return payload.recorders.some(({ complete }) => complete)
    ? []
    : [gap("trace_incomplete", payload.scope.uri)];
}

function kindOfPart(title: string, roots: JudgedEvidence["roots"]): EvidenceKind | undefined {
  const [folder = "", file] = title.split("/");
  const name = (file ?? folder).replace(/\.jsonl?$/, "");
  if (file === undefined || folder === "observations") {
    if (name === "transcript" || name === "conversation") return "transcript";
    if (name === "tool-calls") return "tool-calls";
  }
  if (file === undefined) return undefined;
  const root = roots.find((each) => each.name === name);
  return root === undefined ? undefined : evidenceKindOf(root.surface);
}

function gapsOfPart(part: EvidencePart): readonly Gap[] {
  switch (part.state) {
    case "present":
      return [];
    case "withheld":
      return [gap("part_withheld", part.title)];
    case "redacted":
      return [
        gap("content_redacted", part.title, {
          count: part.redactions.reduce((sum, { count }) => sum + count, 0),
        }),
      ];
    case "omitted":
      return [gap("evidence_kind_missing", part.title, { detail: part.reason })];
  }
}

/** Why a claim cannot be put to a judge at all: a kind of evidence that it needs is not there. */
export function missingFor({ name, needs }: JudgedClaim, standings: Standings): readonly Gap[] {
  const kinds = needs.length === 0 ? EvidenceKind.options : needs;
  const missing = [...new Set(kinds)].filter((kind) => !standings[kind].isThere);
  // Without stated needs any evidence will do.
  if (needs.length === 0 && missing.length < kinds.length) return [];
  if (needs.length === 0) return [gap("evidence_kind_missing", name, { detail: "nothing at all" })];
  return missing.flatMap((kind) => reasonsFor(kind, standings[kind]));
}

function reasonsFor(kind: EvidenceKind, { gaps }: Standing): readonly Gap[] {
  const withheld = gaps.filter(({ code }) => code === "part_withheld");
  return withheld.length > 0 ? withheld : [gap("evidence_kind_missing", kind), ...gaps];
}

/** What the evidence of a claim lacks: while there is any, absence is not proven. */
export function lacksFor({ needs }: JudgedClaim, standings: Standings): readonly Gap[] {
  const kinds =
    needs.length === 0 ? EvidenceKind.options.filter((kind) => standings[kind].isThere) : needs;
  return foldGaps([...new Set(kinds)].flatMap((kind) => standings[kind].gaps));
}
