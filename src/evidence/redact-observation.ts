import { canonicalJson } from "../core/canonical-json.ts";
import { isNamedBy, type SurfaceEntry } from "../core/entry.ts";
import { foldGaps, gap, type Gap } from "../core/gap.ts";
import type { Digest } from "../core/ids.ts";
import { locationUri, rootOf, segmentsOf } from "../core/locator.ts";
import { holdsMask } from "../core/mask.ts";
import { acquisitionOf, gapsOf, type Observation, type Payload } from "../core/observation.ts";
import { globOfScorable } from "../core/scorable.ts";
import { parseStrictJson } from "../core/strict-json.ts";
import type { CallValue, Sighting, ToolCall } from "../core/tool-call.ts";
import type { Message } from "../core/conversation.ts";
import { present, redactState } from "./redact-state.ts";
import { redactJson, redactValue } from "./redact-value.ts";
import type { Redactor } from "./redactor.ts";

export interface ObservationRedaction {
  readonly redactor: Redactor;
  /** A location without the secrets in its names. */
  readonly place: (uri: string) => string;
  /** Matchers that name a secret: what they found would give it away. */
  readonly needles: ReadonlySet<Digest>;
}

type Surface = Extract<Payload, { readonly kind: "surface" }>;

/**
 * An observation without secrets. Where something was removed it is marked so that it counts as not known, and where a name
 * was, a gap stands at the place above it: a replay is never stronger than it was with the secrets.
 */
export function redactObservation(
  observation: Observation,
  how: ObservationRedaction,
): Observation {
  const { payload, ...told } = observation;
  const mask = maskOfTexts(how);
  const redacted = redactPayload(payload, how);
  const gaps = gapsOf(redacted);
  const acquisition =
    observation.acquisition === "complete" ? acquisitionOf(gaps) : observation.acquisition;
  return { ...redactValue(told, mask), acquisition, payload: redacted };
}

/** Texts that are locations lose what the locations lost. */
export function maskOfTexts({
  redactor,
  place,
}: Pick<ObservationRedaction, "redactor" | "place">): (text: string) => string {
  return (text) => (/^[A-Za-z][\w-]{1,63}:\/(?!\/)/.test(text) ? place(text) : redactor.mask(text));
}

function redactPayload(payload: Payload, how: ObservationRedaction): Payload {
  const mask = maskOfTexts(how);
  switch (payload.kind) {
    case "surface":
      return redactSurface(payload, how);
    case "conversation": {
      const { conversation, ...rest } = payload;
      const messages = conversation.messages.map((each) => redactMessage(each, how.redactor));
      return { ...redactValue(rest, mask), conversation: { ...conversation, messages } };
    }
    case "tools": {
      const { calls, ...rest } = payload;
      const told = calls.map((call) => redactCall(call, how));
      return { ...redactValue(rest, mask), calls: told };
    }
  }
}

function redactSurface({ entries, ...rest }: Surface, how: ObservationRedaction): Surface {
  const told = redactValue(rest, maskOfTexts(how));
  const all = entries.map((entry) => redactEntry(entry, how));
  const glob = globOfScorable(told.scope);
  // One that its pattern would no longer name is told by the gap alone.
  const kept = all.filter((entry) => entry.redacted !== true || isNamedBy(glob, entry));
  const hidden = all.filter(({ redacted }) => redacted === true).flatMap(gapsAbove);
  const { coverage } = told;
  return {
    ...told,
    entries: kept,
    coverage: {
      ...coverage,
      shown: coverage.shown - (all.length - kept.length),
      gaps: hidden.length === 0 ? coverage.gaps : foldGaps([...coverage.gaps, ...hidden]),
    },
  };
}

/** The very same where there is nothing to remove: of a hundred thousand entries, that is mostly each. */
function redactEntry(entry: SurfaceEntry, how: ObservationRedaction): SurfaceEntry {
  const names = redactNames(entry, how);
  const now = entry.now && redactState(entry.now, how);
  const before = entry.before && redactState(entry.before, how);
  if (names === undefined && now === entry.now && before === entry.before) return entry;
  return present({ ...entry, ...names, now, before });
}

type Names = Pick<SurfaceEntry, "uri" | "from" | "partOf" | "nameBytes" | "redacted">;

/** Undefined where they stay as they are. */
function redactNames(
  { uri, from, partOf, nameBytes }: SurfaceEntry,
  { place, redactor }: ObservationRedaction,
): Names | undefined {
  const names = { uri: place(uri), from: from && place(from), partOf: partOf && place(partOf) };
  const isRenamed = names.uri !== uri || names.from !== from || names.partOf !== partOf;
  const hides = nameBytes !== undefined && hidesSecret(nameBytes, redactor);
  if (!isRenamed && !hides) return undefined;
  return {
    ...present(names),
    ...(hides ? { nameBytes: undefined } : {}),
    ...(isRenamed ? { redacted: true } : {}),
  };
}

function hidesSecret(base64: string, redactor: Redactor): boolean {
  const text = atob(base64);
  return redactor.mask(text) !== text;
}

/** A gap at the deepest place above a masked name that can still be named. */
function gapsAbove({ uri, from }: SurfaceEntry): readonly Gap[] {
  return [uri, from]
    .filter((place) => place !== undefined)
    .filter((place) => holdsMask(place))
    .map((place) => {
      const names = segmentsOf(place);
      const first = names.findIndex((name) => holdsMask(name));
      const [table, parameters] = (names[first] ?? "").split("?", 2);
      const isRow = parameters !== undefined && table !== undefined && !holdsMask(table);
      const above = isRow ? [...names.slice(0, first), table] : names.slice(0, first);
      const detail = "a secret was removed from a name";
      return gap("content_redacted", locationUri(rootOf(place), above), { detail });
    });
}

function redactMessage(message: Message, redactor: Redactor): Message {
  const { text, textTruncated } = message;
  const masked = textTruncated ? redactor.maskHead(text) : redactor.mask(text);
  return masked === text ? message : { ...message, text: masked, textRedacted: true };
}

function redactCall(call: ToolCall, how: ObservationRedaction): ToolCall {
  const { sightings, ...rest } = call;
  const [first, ...others] = sightings;
  return {
    ...redactValue(rest, how.redactor.mask),
    sightings: [redactSighting(first, how), ...others.map((each) => redactSighting(each, how))],
  };
}

function redactSighting(sighting: Sighting, { redactor }: ObservationRedaction): Sighting {
  const { name, arguments: given, result, ...rest } = sighting;
  const masked = redactor.mask(name);
  return {
    ...redactValue(rest, redactor.mask),
    name: masked,
    ...(masked === name ? {} : { redacted: true }),
    ...(given === undefined ? {} : { arguments: redactCallValue(given, redactor) }),
    ...(result === undefined ? {} : { result: redactCallValue(result, redactor) }),
  };
}

function redactCallValue(value: CallValue, redactor: Redactor): CallValue {
  switch (value.kind) {
    case "json": {
      const text = canonicalJson(redactJson(parseStrictJson(value.text), redactor));
      return text === value.text ? value : { ...value, text, redacted: true };
    }
    case "text": {
      const text = redactor.mask(value.text);
      return text === value.text ? value : { ...value, text, redacted: true };
    }
    case "cut": {
      const head = redactor.maskHead(value.head);
      return head === value.head ? value : { ...value, head, redacted: true };
    }
  }
}
