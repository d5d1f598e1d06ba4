import { canonicalJson } from "../core/canonical-json.ts";
import { parseGlob } from "../core/glob.ts";
import { rootOf, segmentsOf } from "../core/locator.ts";
import type { Observation } from "../core/observation.ts";
import { globOfScorable, type SurfaceScorable } from "../core/scorable.ts";
import type { Need } from "../core/scorer.ts";

/**
 * Whether an observation provably looked at everything that a need names. Where the need states a scope, it must be the
 * observation's; a need without one takes the observation as it is. Candidates cannot stand for a delta.
 */
export function covers(observation: Observation, need: Need): boolean {
  const { scorable, payload } = observation;
  if (need.scorable.kind === "conversation") {
    return (
      payload.kind === "conversation" &&
      payload.conversation.id === need.scorable.conversationId &&
      reachesTo(scorable, need.scorable.throughSequence)
    );
  }
  if (need.scorable.kind === "tool_calls")
    return payload.kind === "tools" && payload.scope.attemptId === need.scorable.attemptId;
  return (
    payload.kind === "surface" &&
    (need.extent !== "delta" || payload.extent === "delta") &&
    isScope(payload.scope, need.scorable) &&
    coversLocations(payload.scope, need.scorable)
  );
}

/** How closely an observation fits a need that it covers: 0 is the very thing that was asked for. */
export function distance(observation: Observation, need: Need): number {
  const { payload } = observation;
  if (payload.kind !== "surface" || need.scorable.kind !== "surface") return 0;
  const wider = sameLocations(payload.scope, need.scorable) ? 0 : 2;
  return wider + (payload.extent === (need.extent ?? "candidates") ? 0 : 1);
}

/** True where both name the same locations in the same words. */
export function sameLocations(left: SurfaceScorable, right: SurfaceScorable): boolean {
  return left.uri === right.uri && left.match === right.match && left.surface === right.surface;
}

/**
 * Whether every location that `inner` names is one that `outer` names. Proven for one location within a pattern, and for a
 * pattern within a whole directory (`NAME:/a/b/**`); other pairs of patterns count as not covered.
 */
export function coversLocations(outer: SurfaceScorable, inner: SurfaceScorable): boolean {
  if (outer.surface !== inner.surface || rootOf(outer.uri) !== rootOf(inner.uri)) return false;
  if (sameLocations(outer, inner)) return true;
  if (inner.match === "exact") return globOfScorable(outer).matches(inner.uri);
  return outer.match === "glob" && liesWithin(outer.uri, inner.uri);
}

function liesWithin(outer: string, inner: string): boolean {
  const whole = parseGlob(outer).text;
  const directory = segmentsOf(whole);
  if (directory.at(-1) !== "**") return false;
  const prefix = directory.slice(0, -1);
  const asked = segmentsOf(inner);
  return (
    asked.length > prefix.length &&
    prefix.every((name, index) => isLiteral(name) && isSameName(name, asked[index] ?? ""))
  );
}

/** No character that could be part of a pattern, nor of a brace that spans several names. */
function isLiteral(name: string): boolean {
  return !/[*?[\]{},]/.test(name);
}

function isSameName(left: string, right: string): boolean {
  return left.normalize("NFC") === right.normalize("NFC");
}

function isScope(stored: SurfaceScorable, asked: SurfaceScorable): boolean {
  return (
    asked.scope === undefined || canonicalJson(asked.scope) === canonicalJson(stored.scope ?? {})
  );
}

/** An observation up to a message holds every message up to an earlier one. */
function reachesTo(stored: Observation["scorable"], asked: number | undefined): boolean {
  if (stored.kind !== "conversation" || stored.throughSequence === undefined) return true;
  return asked !== undefined && asked <= stored.throughSequence;
}
