export { Digest, RunId } from "../core/ids.ts";
export { Timestamp } from "../core/timestamp.ts";
export type { Bundle, BundleFile } from "./bundle.ts";
export { BUNDLE_FAULTS } from "./faults.ts";
export type { BundleFault, Fault } from "./faults.ts";
export { plainHasher } from "./hasher.ts";
export type { Hasher } from "./hasher.ts";
export { EVIDENCE_ARTIFACT_TYPE } from "./layout.ts";
export { BUNDLE_LIMITS } from "./limits.ts";
export type { BundleLimits } from "./limits.ts";
export { byteSource } from "./reader.ts";
export type { BundleReader, ByteSource, ListedFile, Listing } from "./reader.ts";
export { sealBundle } from "./seal.ts";
export type { PartContent, PartInput, SealInput } from "./seal.ts";
export {
  EVIDENCE_PREDICATE_TYPE,
  EvidenceAttribution,
  EvidenceCoverage,
  EvidencePart,
  EvidencePredicate,
  EvidenceRun,
  EvidenceStatement,
  PartCounts,
  PartRedaction,
  PartTitle,
  STATEMENT_MEDIA_TYPE,
} from "./statement.ts";
export { tarPieces } from "./tar.ts";
export { tarReader } from "./tar-reader.ts";
export { verifyBundle } from "./verify.ts";
export type { IntactBundle, Verification, VerifyOptions } from "./verify.ts";
