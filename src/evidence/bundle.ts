import type { Digest } from "../core/ids.ts";
import type { EvidenceStatement } from "./statement.ts";

/** One file of a bundle, whole. */
export interface BundleFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * A sealed bundle in memory. `digest` is that of the statement's bytes: everything else follows from the statement,
 * so a bundle as a directory and as a tar file have one digest, and signatures added later do not change it.
 */
export interface Bundle {
  readonly digest: Digest;
  readonly statement: EvidenceStatement;
  /** Every file, in the order in which a tar file holds them. */
  readonly files: readonly BundleFile[];
}
