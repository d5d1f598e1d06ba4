/** How much of a run may leave, least first. A level takes everything that the levels before it take. */
export const ARTIFACT_LEVELS = ["metadata-only", "traces", "recordings", "full"] as const;
export type ArtifactLevel = (typeof ARTIFACT_LEVELS)[number];

export const DEFAULT_ARTIFACT_LEVEL: ArtifactLevel = "traces";

export interface ArtifactKindRule {
  /** The least level that takes it. */
  readonly from: ArtifactLevel;
  /** Whether it is still taken when the budget is spent, up to the hard cap. */
  readonly reserved: boolean;
  readonly meaning: string;
}

/** Every kind of artifact. Sender and collector decide by this one table. */
export const ARTIFACT_KINDS = {
  build: { from: "metadata-only", reserved: true, meaning: "what was run: versions and digests" },
  result: { from: "metadata-only", reserved: true, meaning: "the receipts of a job, together" },
  log: { from: "metadata-only", reserved: false, meaning: "what the runner logged" },
  transcript: { from: "traces", reserved: true, meaning: "what was said" },
  tool_trace: { from: "traces", reserved: true, meaning: "the tool calls" },
  evidence: { from: "traces", reserved: true, meaning: "a sealed bundle, as one tar file" },
  trace: { from: "traces", reserved: false, meaning: "spans" },
  recording: { from: "recordings", reserved: false, meaning: "sound or pictures" },
  other: { from: "full", reserved: false, meaning: "anything else" },
} as const satisfies Readonly<Record<string, ArtifactKindRule>>;
export type ArtifactKind = keyof typeof ARTIFACT_KINDS;

/** What one job may send. Both sides know it. */
export interface ArtifactPolicy {
  readonly level: ArtifactLevel;
  /** Bytes of one artifact. Default 64 MiB. */
  readonly maxArtifactBytes: number;
  /** Bytes of all artifacts of a job; beyond it, reserved kinds alone are taken. Default 1 GiB. */
  readonly budgetBytes: number;
  /** Bytes beyond which nothing is taken. Default 1.25 GiB. */
  readonly hardCapBytes: number;
}

export const DEFAULT_ARTIFACT_POLICY: ArtifactPolicy = {
  level: DEFAULT_ARTIFACT_LEVEL,
  maxArtifactBytes: 64 * 1024 * 1024,
  budgetBytes: 1024 * 1024 * 1024,
  hardCapBytes: 1280 * 1024 * 1024,
};

/** Every way in which an artifact is not admitted, with its meaning. */
export const ADMISSION_FAULTS = {
  kind_unknown: "The kind of artifact is not known here.",
  level_forbids: "The job's level does not let this kind out.",
  artifact_too_large: "The artifact alone is larger than may be sent.",
  budget_spent: "The job's budget is spent, and this kind is not reserved.",
  hard_cap_reached: "The job's hard cap is reached: nothing more is taken.",
} as const;
export type AdmissionFault = keyof typeof ADMISSION_FAULTS;

/** Whether a kind is one of the table. */
export function isArtifactKind(kind: string): kind is ArtifactKind {
  return Object.hasOwn(ARTIFACT_KINDS, kind);
}

/** Whether a level lets a kind out. */
export function levelAdmits(level: ArtifactLevel, kind: ArtifactKind): boolean {
  return ARTIFACT_LEVELS.indexOf(ARTIFACT_KINDS[kind].from) <= ARTIFACT_LEVELS.indexOf(level);
}

/** Why an artifact is not admitted to a job that has sent `usedBytes` before, or null where it is. A sum met exactly is not exceeded. */
export function admissionFault(
  artifact: { readonly kind: string; readonly sizeBytes: number },
  usedBytes: number,
  policy: ArtifactPolicy = DEFAULT_ARTIFACT_POLICY,
): AdmissionFault | null {
  const { kind, sizeBytes } = artifact;
  if (!isArtifactKind(kind)) return "kind_unknown";
  if (!levelAdmits(policy.level, kind)) return "level_forbids";
  if (sizeBytes > policy.maxArtifactBytes) return "artifact_too_large";
  const sum = usedBytes + sizeBytes;
  if (sum > policy.hardCapBytes) return "hard_cap_reached";
  return sum > policy.budgetBytes && !ARTIFACT_KINDS[kind].reserved ? "budget_spent" : null;
}
