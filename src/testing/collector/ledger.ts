import type { Digest } from "../../core/ids.ts";
import {
  admissionFault,
  DEFAULT_ARTIFACT_POLICY,
  type ArtifactPolicy,
} from "../../evidence/artifact-kinds.ts";
import type { DeliveryError } from "../../evidence/delivery-answers.ts";
import { readReceipt } from "../../evidence/read-receipt.ts";
import type { Receipt } from "../../evidence/receipt.ts";
import {
  compareAttempts,
  mismatchOf,
  type EvidenceOrigin,
  type ScenarioAttempt,
} from "../../evidence/scenario-attempt.ts";

/** What a collector does with what came: keeps it, has it already, or refuses it. */
export type Decision = "stored" | "duplicate" | DeliveryError;

/** An artifact whose bytes have come in and were digested. */
export interface ArrivedArtifact {
  readonly attempt: ScenarioAttempt;
  readonly kind: string;
  readonly sizeBytes: number;
  /** The digest in its name, and that of its bytes. */
  readonly named: Digest;
  readonly actual: Digest;
  /** What evidence says of itself; null where it is not intact, undefined for other kinds. */
  readonly origin: EvidenceOrigin | null | undefined;
}

interface StoredArtifact {
  readonly kind: string;
  readonly sizeBytes: number;
}

/** The rules of a collector, over memory. Each decision is taken in one step, so no two can cross. */
export class CollectorLedger {
  readonly #policy: ArtifactPolicy;
  readonly #artifacts = new Map<string, StoredArtifact>();
  /** Which attempt has which artifact. */
  readonly #references = new Set<string>();
  readonly #used = new Map<string, number>();
  readonly #latest = new Map<string, Receipt>();

  constructor(policy: Partial<ArtifactPolicy> = {}) {
    this.#policy = { ...DEFAULT_ARTIFACT_POLICY, ...policy };
  }

  /** The receipts that count, one a scenario. */
  get receipts(): readonly Receipt[] {
    return [...this.#latest.values()];
  }

  /** What is wrong with an upload before a byte of it has come. */
  refusalOf({
    attempt,
    kind,
    sizeBytes,
    named,
  }: Omit<ArrivedArtifact, "actual" | "origin">): DeliveryError | null {
    if (this.#isSuperseded(attempt)) return "attempt_superseded";
    const known = this.#artifacts.get(artifactKey(attempt.jobId, named));
    if (known !== undefined) return known.kind === kind ? null : "artifact_conflict";
    return admissionFault({ kind, sizeBytes }, this.#used.get(attempt.jobId) ?? 0, this.#policy);
  }

  artifact(arrived: ArrivedArtifact): Decision {
    const { attempt, kind, sizeBytes, named, actual, origin } = arrived;
    const refusal = this.refusalOf(arrived);
    if (refusal !== null) return refusal;
    if (named !== actual) return "digest_mismatch";
    if (origin === null || (origin !== undefined && mismatchOf(attempt, origin) !== null))
      return "origin_mismatch";
    const key = artifactKey(attempt.jobId, named);
    const isNew = !this.#artifacts.has(key);
    if (isNew) {
      this.#artifacts.set(key, { kind, sizeBytes });
      this.#used.set(attempt.jobId, (this.#used.get(attempt.jobId) ?? 0) + sizeBytes);
    }
    const reference = referenceKey(attempt, named);
    const isKnown = this.#references.has(reference);
    this.#references.add(reference);
    return isKnown ? "duplicate" : "stored";
  }

  /** Decides about a receipt by its bytes; the digest is that of the receipt, as far as it could be read. */
  receipt(bytes: Uint8Array): { readonly decision: Decision; readonly receipt?: Receipt } {
    const reading = readReceipt(bytes);
    if (!reading.ok)
      return { decision: reading.reason === "too_large" ? "receipt_too_large" : "receipt_invalid" };
    return { decision: this.#decide(reading.receipt), receipt: reading.receipt };
  }

  #decide(receipt: Receipt): Decision {
    const latest = this.#latest.get(scenarioKey(receipt));
    const order = latest === undefined ? 1 : compareAttempts(receipt, latest);
    if (latest !== undefined && order === 0)
      return latest.digest === receipt.digest ? "duplicate" : "receipt_conflict";
    if (order < 0) return "attempt_superseded";
    const { evidence } = receipt;
    if (evidence !== undefined && !this.#hasEvidence(receipt, evidence)) return "evidence_missing";
    this.#latest.set(scenarioKey(receipt), receipt);
    return "stored";
  }

  #hasEvidence(attempt: ScenarioAttempt, digest: Digest): boolean {
    const stored = this.#artifacts.get(artifactKey(attempt.jobId, digest));
    return stored?.kind === "evidence" && this.#references.has(referenceKey(attempt, digest));
  }

  #isSuperseded(attempt: ScenarioAttempt): boolean {
    const latest = this.#latest.get(scenarioKey(attempt));
    return latest !== undefined && compareAttempts(attempt, latest) < 0;
  }
}

function artifactKey(jobId: string, digest: Digest): string {
  return JSON.stringify([jobId, digest]);
}

function scenarioKey({ jobId, scenarioKey: key }: ScenarioAttempt): string {
  return JSON.stringify([jobId, key]);
}

function referenceKey(attempt: ScenarioAttempt, digest: Digest): string {
  const { jobId, attemptId, scenarioKey: key, scenarioAttempt } = attempt;
  return JSON.stringify([jobId, attemptId, key, scenarioAttempt, digest]);
}
