/** How much of a bundle is read before it is refused. What is sealed here stays within the same limits. */
export interface BundleLimits {
  /** Files in the bundle. Default 10 000. */
  readonly maxFiles: number;
  /** Parts that one statement lists, and so its subjects less one. Default 5 000. */
  readonly maxParts: number;
  /** Bytes of one blob: it is digested in pieces. Default 4 GiB. */
  readonly maxBlobBytes: number;
  /** Bytes of all files together. Default 8 GiB. */
  readonly maxBundleBytes: number;
  /** Bytes of a part that is read as JSON: it is parsed whole. Default 64 MiB. */
  readonly maxJsonBytes: number;
  /** Bytes of a statement, of the index, and half of those of a signature's file. Default 16 MiB. */
  readonly maxStatementBytes: number;
}

export const BUNDLE_LIMITS: BundleLimits = {
  maxFiles: 10_000,
  maxParts: 5_000,
  maxBlobBytes: 4 * 1024 ** 3,
  maxBundleBytes: 8 * 1024 ** 3,
  maxJsonBytes: 64 * 1024 ** 2,
  maxStatementBytes: 16 * 1024 ** 2,
};
