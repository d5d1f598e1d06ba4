import type { Digest } from "../core/ids.ts";
import type { Signature } from "./dsse.ts";
import type { EvidenceStatement } from "./statement.ts";
import type { SuiteStatement } from "./suite-statement.ts";

/** One file of a bundle, whole. */
export interface BundleFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * A sealed bundle in memory. `digest` is that of the statement's bytes: everything else follows from the statement,
 * so a bundle as a directory and as a tar file have one digest, and signatures do not change it.
 */
export interface Bundle {
  readonly digest: Digest;
  readonly statement: EvidenceStatement;
  readonly signatures: readonly Signature[];
  /** Every file, in the order in which a tar file holds them. */
  readonly files: readonly BundleFile[];
}

/** The sealed bundles of a suite run in one, in memory. `digest` is that of the suite's statement. */
export interface SuiteBundle {
  readonly digest: Digest;
  readonly statement: SuiteStatement;
  /** Every file, in the order in which a tar file holds them. */
  readonly files: readonly BundleFile[];
}
