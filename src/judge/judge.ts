import type { JsonValue } from "../core/canonical-json.ts";
import type { EvidenceKind } from "../core/evidence-kind.ts";
import type { Gap } from "../core/gap.ts";
import type { Digest } from "../core/ids.ts";
import type { JudgeFailureCode, JudgeIdentity } from "./judgment.ts";

/**
 * A question: as text (the rules and the form of the answer, then the claims and the fenced evidence), and the same once more as
 * data for a judge that is a program.
 */
export interface JudgePrompt {
  readonly system: string;
  readonly user: string;
  readonly claims: readonly { readonly id: string; readonly claim: string }[];
  readonly evidence: readonly ShownEvidence[];
  readonly gaps: readonly Gap[];
}

/** A piece of evidence as a judge gets it; it is cited by `evidence`. */
export interface ShownEvidence {
  readonly evidence: string;
  readonly kind: EvidenceKind;
  readonly part: string;
  readonly location: string;
  readonly value: JsonValue;
}

/** What one call of a judge cost, as far as it says. */
export interface Usage {
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** What came back: text that is still to be parsed, or that there was none, and whether to ask again may help. */
export type Reply =
  | { readonly kind: "answer"; readonly text: string; readonly usage?: Usage | undefined }
  | {
      readonly kind: "failure";
      readonly code: JudgeFailureCode;
      readonly detail: string;
      readonly retry: boolean;
      /** How long the judge asks to be left alone. */
      readonly retryAfterMs?: number | undefined;
      readonly text?: string | undefined;
      readonly usage?: Usage | undefined;
    };

export interface AskOptions {
  readonly signal: AbortSignal;
  /** The digest of the question without its fence. */
  readonly question: Digest;
  /** From 1. */
  readonly attempt: number;
}

/**
 * Answers questions. Guarantees: a failure of its own is a reply, never an exception and never an answer; it rejects only with the
 * signal's reason.
 */
export interface Judge {
  readonly identity: JudgeIdentity;
  ask(prompt: JudgePrompt, options: AskOptions): Promise<Reply>;
}
