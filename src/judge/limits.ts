/** How much is shown to a judge and taken from it. What goes beyond is counted, and proves no absence. */
export interface JudgeLimits {
  /** Bytes of evidence in one question. Default 400 000. */
  readonly maxEvidenceBytes: number;
  /** Bytes of one exhibit: a message, a call, a row, a file. Default 20 000. */
  readonly maxExhibitBytes: number;
  /** Gaps that are told one by one; the rest is counted. Default 50. */
  readonly maxGaps: number;
  /** Claims in one question. Default 10. */
  readonly maxClaims: number;
  /** Bytes of an answer that are read. A longer one is a failure of the judge. Default 256 KiB. */
  readonly maxAnswerBytes: number;
}

export const JUDGE_LIMITS: JudgeLimits = {
  maxEvidenceBytes: 400_000,
  maxExhibitBytes: 20_000,
  maxGaps: 50,
  maxClaims: 10,
  maxAnswerBytes: 262_144,
};

/** Characters kept of the reason that a judge gives for one claim. */
export const MAX_REASON = 10_000;
