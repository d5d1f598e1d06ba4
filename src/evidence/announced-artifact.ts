import { AttemptId, Digest } from "../core/ids.ts";
import { ARTIFACT_HEADERS } from "./delivery-answers.ts";
import { ScenarioAttempt } from "./scenario-attempt.ts";

/** What the name and the headers of an upload say of it, before a byte of it has come. */
export interface AnnouncedArtifact {
  readonly attempt: ScenarioAttempt;
  /** As it was given: not yet one of the table. */
  readonly kind: string;
  readonly sizeBytes: number;
  readonly named: Digest;
}

/** Reads the headers of an upload, their names in lower case; null where one is missing or not of its form. */
export function announcedArtifact(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  hex: string,
): AnnouncedArtifact | null {
  const texts = Object.fromEntries(
    Object.entries(ARTIFACT_HEADERS).map(([field, header]) => [field, decoded(headers[header])]),
  );
  const attempt = ScenarioAttempt.safeParse({
    ...texts,
    attemptId: AttemptId.safeParse(texts["attemptId"]).data,
    attemptNumber: Number(texts["attemptNumber"]),
    scenarioAttempt: Number(texts["scenarioAttempt"]),
  });
  const named = Digest.safeParse(`sha256:${hex}`);
  const sizeBytes = Number(texts["sizeBytes"] ?? Number.NaN);
  const { kind } = texts;
  if (!attempt.success || !named.success || kind === undefined) return null;
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return null;
  return { attempt: attempt.data, named: named.data, kind, sizeBytes };
}

function decoded(header: string | readonly string[] | undefined): string | undefined {
  try {
    return typeof header === "string" ? decodeURIComponent(header) : undefined;
  } catch {
    return undefined;
  }
}
