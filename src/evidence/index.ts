export { Digest, RunId } from "../core/ids.ts";
export { Timestamp } from "../core/timestamp.ts";
export {
  admissionFault,
  ADMISSION_FAULTS,
  ARTIFACT_KINDS,
  ARTIFACT_LEVELS,
  DEFAULT_ARTIFACT_POLICY,
} from "./artifact-kinds.ts";
export type {
  AdmissionFault,
  ArtifactKind,
  ArtifactKindRule,
  ArtifactLevel,
  ArtifactPolicy,
} from "./artifact-kinds.ts";
export { countersign, withholdParts } from "./amend.ts";
export type { AmendedBundle, StoredFile } from "./amend.ts";
export type { Bundle, BundleFile, SuiteBundle } from "./bundle.ts";
export { SIGSTORE_MEDIA_TYPE } from "./dsse.ts";
export type { Signature } from "./dsse.ts";
export { BUNDLE_FAULTS } from "./faults.ts";
export type { BundleFault, Fault } from "./faults.ts";
export {
  ARTIFACT_HEADERS,
  DeliveryReceived,
  DeliveryRefusal,
  DELIVERY_ERRORS,
} from "./delivery-answers.ts";
export type { DeliveryError } from "./delivery-answers.ts";
export { exportHarnessResult, importHarnessResult } from "./harness-exchange.ts";
export type { ImportedReceipt } from "./harness-exchange.ts";
export { HarnessResult, readHarnessResult } from "./harness-result.ts";
export type { HarnessReading } from "./harness-result.ts";
export { plainHasher, webHasher } from "./hasher.ts";
export type { Hasher, RunningDigest, WebDigest } from "./hasher.ts";
export { EVIDENCE_ARTIFACT_TYPE } from "./layout.ts";
export { BUNDLE_LIMITS } from "./limits.ts";
export type { BundleLimits } from "./limits.ts";
export { byteSource } from "./reader.ts";
export type { BundleReader, ByteSource, ListedFile, Listing } from "./reader.ts";
export { readReceipt, RECEIPT_FAULTS } from "./read-receipt.ts";
export type { ReceiptFault, ReceiptReading, RefusedReceipt } from "./read-receipt.ts";
export {
  CallSummary,
  FailureDomain,
  makeReceipt,
  MissingArtifact,
  Receipt,
  receiptBytes,
  ReceiptFailure,
  ReceiptStatus,
  ReceiptSubGoal,
  statusOf,
  withoutArtifact,
} from "./receipt.ts";
export type { ReceiptInput, ReceiptOutcome, Redaction } from "./receipt.ts";
export { compareAttempts, mismatchOf, ScenarioAttempt } from "./scenario-attempt.ts";
export type { BindingField, EvidenceOrigin } from "./scenario-attempt.ts";
export type { PartContent, RunSecret } from "./salt.ts";
export { sealBundle } from "./seal.ts";
export type { PartInput, SealInput, SealOptions } from "./seal.ts";
export { sealSuite } from "./seal-suite.ts";
export type { ScenarioInput, SuiteInput } from "./seal-suite.ts";
export type { Signer, VerifyingKey } from "./signer.ts";
export {
  EVIDENCE_PREDICATE_TYPE,
  EvidenceAttribution,
  EvidenceCoverage,
  EvidencePart,
  EvidencePredicate,
  EvidenceRun,
  EvidenceSealer,
  EvidenceStatement,
  PartCounts,
  PartRedaction,
  PartTitle,
  STATEMENT_MEDIA_TYPE,
} from "./statement.ts";
export {
  SUITE_PREDICATE_TYPE,
  SuitePredicate,
  SuiteRun,
  SuiteScenario,
  SuiteStatement,
} from "./suite-statement.ts";
export type { SealedScenario } from "./suite-statement.ts";
export { tarPieces } from "./tar.ts";
export { tarReader } from "./tar-reader.ts";
export { verifyBundle } from "./verify.ts";
export type { IntactBundle, Verification, VerifyOptions } from "./verify.ts";
export type { CheckedSignature, SignatureState } from "./verify-signatures.ts";
export { verifySuite } from "./verify-suite.ts";
export type { IntactScenario, IntactSuite, SuiteVerification } from "./verify-suite.ts";
export { webKey } from "./web-key.ts";
export type { WebVerify } from "./web-key.ts";
