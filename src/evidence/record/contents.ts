import { z } from "zod";
import { canonicalJson } from "../../core/canonical-json.ts";
import { RecordedFinding, RetainedContent, type EntryState } from "../../core/entry.ts";
import { UpheldError } from "../../core/errors.ts";
import type { GapCode } from "../../core/gap.ts";
import { Digest } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";
import { Row } from "../../core/row.ts";

/** What was retained of one location at one moment, and all that was derived from it. */
export const KeptContent = z
  .object({
    id: z.string().min(1),
    sha256: Digest.optional(),
    content: RetainedContent.optional(),
    findings: z.array(RecordedFinding).readonly().optional(),
    row: Row.optional(),
  })
  .readonly();
export type KeptContent = z.infer<typeof KeptContent>;

/** What a part `contents/ROOT.json` holds. */
export const ContentsPart = z
  .object({ schemaVersion: z.literal(1), contents: z.array(KeptContent).readonly() })
  .readonly();

/** The contents of a root by id, or why they are not there. */
export type Contents = ReadonlyMap<string, KeptContent> | GapCode;

/** A state as it is stored: `kept` names what was retained of it. */
const StoredState = z.looseObject({ kept: z.string().optional() });
const StoredEntry = z.looseObject({ now: StoredState.optional(), before: StoredState.optional() });
export const StoredEntries = z.looseObject({ entries: z.array(StoredEntry) });
type StoredState = z.infer<typeof StoredState>;

/**
 * Parts contents from what may be told without them. A content has the number of its first occurrence, which says nothing of
 * what it holds; two that stand at one location on one side share it where they are equal.
 */
export class ContentsSplit {
  readonly #ids = new Map<string, string>();
  readonly #contents: KeptContent[] = [];

  /** What was parted so far, in order. */
  get contents(): readonly KeptContent[] {
    return this.#contents;
  }

  /** The payload of a surface with references in place of contents. */
  refer(payload: Extract<Observation["payload"], { readonly kind: "surface" }>): object {
    return {
      ...payload,
      entries: payload.entries.map(({ now, before, ...entry }) => ({
        ...entry,
        ...(now === undefined ? {} : { now: this.#referred(now, `now ${entry.uri}`) }),
        ...(before === undefined ? {} : { before: this.#referred(before, `before ${entry.uri}`) }),
      })),
    };
  }

  #referred({ sha256, content, findings, row, ...told }: EntryState, place: string): object {
    const kept = Object.fromEntries(
      Object.entries({ sha256, content, findings, row }).filter(([, value]) => value !== undefined),
    );
    if (Object.keys(kept).length === 0) return told;
    const reference = { ...told, kept: this.#idOf(kept, place) };
    // How a row is told apart bears on verdicts; what its columns hold is content.
    return row === undefined
      ? reference
      : { ...reference, row: { columns: [], key: row.key, partial: true } };
  }

  #idOf(kept: Omit<KeptContent, "id">, place: string): string {
    const key = `${place}\n${canonicalJson(kept)}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = String(this.#contents.length + 1);
    this.#ids.set(key, id);
    this.#contents.push({ ...kept, id });
    return id;
  }
}

/** The payload of a surface with its contents again, or with the reason for which each is not known. */
export function rejoined(
  payload: z.infer<typeof StoredEntries>,
  contents: Contents,
): Readonly<Record<string, unknown>> {
  return {
    ...payload,
    entries: payload.entries.map(({ now, before, ...entry }) => ({
      ...entry,
      ...(now === undefined ? {} : { now: rejoinedState(now, contents) }),
      ...(before === undefined ? {} : { before: rejoinedState(before, contents) }),
    })),
  };
}

function rejoinedState({ kept, ...told }: StoredState, contents: Contents): object {
  if (kept === undefined) return told;
  if (typeof contents === "string") return { ...told, unread: { code: contents } };
  const found = contents.get(kept);
  if (found === undefined)
    throw new UpheldError(
      "bundle_invalid",
      `an observation names content ${kept}, which is not kept`,
    );
  const { id: _, ...content } = found;
  return { ...told, ...content };
}
