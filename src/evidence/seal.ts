import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import type { Gap, NonEmpty } from "../core/gap.ts";
import type { Digest } from "../core/ids.ts";
import type { ScoringScope } from "../core/scope.ts";
import type { Bundle, BundleFile } from "./bundle.ts";
import { freeze } from "./freeze.ts";
import type { Hasher } from "./hasher.ts";
import { blobName, blobOf, compareNames, layoutOf, manifestBytes, type Blob } from "./layout.ts";
import { RUN_REFERENCE } from "./reference.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import type { BundleLimits } from "./limits.ts";
import { plainBytes, saltedBytes, type PartContent, type RunSecret } from "./salt.ts";
import { sealerOf, signStatement, type Signer } from "./signer.ts";
import {
  EVIDENCE_PREDICATE_TYPE,
  EvidencePredicate,
  STATEMENT_TYPE,
  subjectsOf,
} from "./statement.ts";
import type {
  EvidenceAttribution,
  EvidenceCoverage,
  EvidencePart,
  EvidenceRun,
  EvidenceSealer,
  EvidenceStatement,
  PartCounts,
  PartRedaction,
} from "./statement.ts";

interface PartName {
  readonly title: string;
  readonly mediaType: string;
}

/** A part to be sealed, by its state; the states are those of `EvidencePart`. */
export type PartInput = PartName &
  (
    | { readonly state: "present"; readonly content: PartContent; readonly counts?: PartCounts }
    | {
        readonly state: "redacted";
        readonly content: PartContent;
        readonly counts?: PartCounts;
        readonly redactions: NonEmpty<PartRedaction>;
      }
    | {
        readonly state: "withheld";
        readonly digest: Digest;
        readonly sizeBytes: number;
        readonly counts?: PartCounts;
      }
    | { readonly state: "omitted"; readonly total: number; readonly reason: string }
  );

/** Everything that a seal covers. Redaction and bounds come before: what is given here is what is kept. */
export interface SealInput {
  readonly run: EvidenceRun;
  /** Where the sealing program runs: see `EvidenceSealer`. Not said by default, and the guest's where a signer is given. */
  readonly sealer?: EvidenceSealer["by"];
  readonly scope?: ScoringScope;
  readonly limits?: Readonly<Record<string, number>>;
  readonly attribution?: readonly EvidenceAttribution[];
  readonly coverage?: readonly (Omit<EvidenceCoverage, "gaps"> & {
    readonly gaps: readonly Gap[];
  })[];
  readonly parts: readonly PartInput[];
}

export interface SealOptions {
  readonly hasher: Hasher;
  readonly limits?: BundleLimits;
  /** Salts every part. Without it, the digest of a part that is withheld later can tell what it held. */
  readonly secret?: RunSecret;
  /** Signs the statement at once. */
  readonly signer?: Signer;
}

/**
 * Seals parts into a bundle. Equal input gives equal bytes, but for signatures. Throws "argument_invalid" when the input is not
 * of the stated form, names a title twice or exceeds `BundleLimits`, and "json_invalid" when JSON content has no form.
 */
export async function sealBundle(input: SealInput, options: SealOptions): Promise<Bundle> {
  const { limits = BUNDLE_LIMITS } = options;
  if (input.parts.length > limits.maxParts) {
    throw tooLarge("the bundle", input.parts.length, limits.maxParts, "parts");
  }
  const parts: EvidencePart[] = [];
  const blobs = new Map<string, BundleFile>();
  for (const given of input.parts) {
    const { part, bytes } = await sealPart(given, options);
    parts.push(part);
    if (bytes === null || !("digest" in part)) continue;
    if (bytes.length > limits.maxBlobBytes) {
      throw tooLarge(part.title, bytes.length, limits.maxBlobBytes, "bytes");
    }
    blobs.set(blobName(part.digest), { name: blobName(part.digest), bytes });
  }
  return bundleOf(predicateOf(input, parts, options.signer), blobs, options);
}

async function bundleOf(
  predicate: EvidencePredicate,
  blobs: ReadonlyMap<string, BundleFile>,
  { hasher, signer, limits = BUNDLE_LIMITS }: SealOptions,
): Promise<Bundle> {
  const { parts } = predicate;
  const { digest: manifest } = await blobOf(manifestBytes(parts), hasher);
  const statement: EvidenceStatement = {
    _type: STATEMENT_TYPE,
    subject: subjectsOf(manifest, parts),
    predicateType: EVIDENCE_PREDICATE_TYPE,
    predicate,
  };
  const blob = await blobOf(canonicalJsonBytes(statement), hasher);
  if (blob.bytes.length > limits.maxStatementBytes) {
    throw tooLarge("the statement", blob.bytes.length, limits.maxStatementBytes, "bytes");
  }
  const signatures = signer === undefined ? [] : [await signStatement(blob, signer)];
  const own = { reference: RUN_REFERENCE, statement: blob, parts, signatures };
  const { derived } = await layoutOf([own], new Set(), hasher);
  const files = new Map([...blobs.values(), ...derived].map((file) => [file.name, file]));
  const ordered = [...files.values()].toSorted((left, right) =>
    compareNames(left.name, right.name),
  );
  return freeze({ digest: blob.digest, statement, signatures, files: ordered });
}

function predicateOf(
  input: SealInput,
  parts: readonly EvidencePart[],
  signer: Signer | undefined,
): EvidencePredicate {
  const parsed = EvidencePredicate.safeParse({
    run: input.run,
    ...sealerOf(input.sealer, signer),
    scope: input.scope ?? {},
    limits: input.limits ?? {},
    attribution: input.attribution ?? [],
    coverage: input.coverage ?? [],
    parts,
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue?.path.join("/") ?? "";
    throw new UpheldError("argument_invalid", `cannot seal: /${place}: ${issue?.message}`);
  }
  return parsed.data;
}

interface SealedPart {
  readonly part: EvidencePart;
  /** What the bundle will hold of it, if anything. */
  readonly bytes: Uint8Array | null;
}

async function sealPart(given: PartInput, options: SealOptions): Promise<SealedPart> {
  const { title, mediaType } = given;
  switch (given.state) {
    case "present": {
      const { digest, bytes } = await blobOfPart(given, options);
      const stored = { title, mediaType, digest, sizeBytes: bytes.length, ...countsOf(given) };
      return { part: { state: "present", ...stored }, bytes };
    }
    case "redacted": {
      const { digest, bytes } = await blobOfPart(given, options);
      const stored = { title, mediaType, digest, sizeBytes: bytes.length, ...countsOf(given) };
      return { part: { state: "redacted", ...stored, redactions: given.redactions }, bytes };
    }
    case "withheld": {
      const { digest, sizeBytes } = given;
      const part = { title, mediaType, digest, sizeBytes, ...countsOf(given) };
      return { part: { state: "withheld", ...part }, bytes: null };
    }
    case "omitted": {
      const counts = { shown: 0 as const, total: given.total };
      return {
        part: { state: "omitted", title, mediaType, counts, reason: given.reason },
        bytes: null,
      };
    }
  }
}

function countsOf({ counts }: { readonly counts?: PartCounts }): { readonly counts?: PartCounts } {
  return counts === undefined ? {} : { counts };
}

async function blobOfPart(
  { title, content }: { readonly title: string; readonly content: PartContent },
  { hasher, secret }: SealOptions,
): Promise<Blob> {
  const bytes =
    secret === undefined
      ? plainBytes(content)
      : await saltedBytes(content, secret, { title, hasher });
  return blobOf(bytes, hasher);
}

function tooLarge(what: string, is: number, limit: number, unit: string): UpheldError {
  return new UpheldError(
    "argument_invalid",
    `${what} has ${is} ${unit}, at most ${limit} can be sealed`,
  );
}
