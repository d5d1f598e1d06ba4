import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { Digest } from "../core/ids.ts";
import type { BundleFile } from "./bundle.ts";
import type { Hasher } from "./hasher.ts";
import { hexOf, STATEMENT_MEDIA_TYPE, storedParts } from "./statement.ts";
import type { EvidencePart } from "./statement.ts";

export const EVIDENCE_ARTIFACT_TYPE = "application/vnd.upheld.evidence.v1+json";

const MANIFEST_MEDIA_TYPE = "application/vnd.oci.image.manifest.v1+json";
const INDEX_MEDIA_TYPE = "application/vnd.oci.image.index.v1+json";
const TITLE = "org.opencontainers.image.title";
const REFERENCE = "org.opencontainers.image.ref.name";

/** The empty configuration that OCI defines: two bytes. */
const EMPTY_CONFIG = {
  mediaType: "application/vnd.oci.empty.v1+json",
  digest: Digest.parse("sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
  size: 2,
};

export const LAYOUT_FILE = "oci-layout";
export const CHECKSUM_FILE = "manifest-sha256.txt";
export const INDEX_FILE = "index.json";
const BLOB_FOLDER = "blobs/sha256/";

/** Where the bytes of a digest lie in a bundle. */
export function blobName(digest: Digest): string {
  return BLOB_FOLDER + hexOf(digest);
}

/** The digest that a blob's name stands for, or null for another name. */
export function digestOfBlobName(name: string): Digest | null {
  const parsed = Digest.safeParse(`sha256:${name.slice(BLOB_FOLDER.length)}`);
  return name.startsWith(BLOB_FOLDER) && parsed.success ? parsed.data : null;
}

/** Whether a file of this name can be in a bundle at all. */
export function isBundleName(name: string): boolean {
  return rankOf(name) !== null;
}

/** Canonical order: the layout marker, the blobs by digest, the checksums, and last the index that commits. */
export function compareNames(left: string, right: string): number {
  const byRank = (rankOf(left) ?? 4) - (rankOf(right) ?? 4);
  if (byRank !== 0) return byRank;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function rankOf(name: string): number | null {
  if (name === LAYOUT_FILE) return 0;
  if (name === CHECKSUM_FILE) return 2;
  if (name === INDEX_FILE) return 3;
  return digestOfBlobName(name) === null ? null : 1;
}

/** The image manifest over the parts: one layer for each part that has bytes, under its title. */
export function manifestBytes(parts: readonly EvidencePart[]): Uint8Array {
  return canonicalJsonBytes({
    schemaVersion: 2,
    mediaType: MANIFEST_MEDIA_TYPE,
    artifactType: EVIDENCE_ARTIFACT_TYPE,
    config: EMPTY_CONFIG,
    layers: storedParts(parts).map(({ title, mediaType, digest, sizeBytes }) => ({
      mediaType,
      digest,
      size: sizeBytes,
      annotations: { [TITLE]: title },
    })),
  });
}

/** Bytes with their digest. */
export interface Blob {
  readonly digest: Digest;
  readonly bytes: Uint8Array;
}

/** What a bundle with these parts and this statement must hold. */
export interface Layout {
  /** The digest of the image manifest. */
  readonly manifest: Digest;
  /** Every file besides the parts, whole: each follows from the statement. */
  readonly derived: readonly BundleFile[];
  /** The names of all files, in canonical order. */
  readonly names: readonly string[];
}

/**
 * Works out every file besides the parts. A pure function of the statement: two bundles with one statement differ in
 * nothing. Signatures will be further blobs, named by further entries of the index behind these two.
 */
export async function layoutOf(
  parts: readonly EvidencePart[],
  statement: Blob,
  hasher: Hasher,
): Promise<Layout> {
  const manifest = await blobOf(manifestBytes(parts), hasher);
  const digests = storedParts(parts).map(({ digest }) => digest);
  const listed = [EMPTY_CONFIG.digest, manifest.digest, statement.digest, ...digests];
  const derived = [
    { name: LAYOUT_FILE, bytes: canonicalJsonBytes({ imageLayoutVersion: "1.0.0" }) },
    { name: blobName(EMPTY_CONFIG.digest), bytes: canonicalJsonBytes({}) },
    { name: blobName(manifest.digest), bytes: manifest.bytes },
    { name: blobName(statement.digest), bytes: statement.bytes },
    { name: CHECKSUM_FILE, bytes: checksumBytes(listed) },
    { name: INDEX_FILE, bytes: indexBytes(manifest, statement) },
  ];
  const here = storedParts(parts).filter(({ state }) => state !== "withheld");
  const names = new Set([
    ...derived.map(({ name }) => name),
    ...here.map(({ digest }) => blobName(digest)),
  ]);
  return { manifest: manifest.digest, derived, names: [...names].toSorted(compareNames) };
}

/** Digests bytes that are not going to change. */
export async function blobOf(bytes: Uint8Array, hasher: Hasher): Promise<Blob> {
  return { digest: await hasher.sha256(bytes), bytes };
}

/** Lines as sha256sum reads them. Withheld parts are listed too, so it is run with --ignore-missing. */
function checksumBytes(digests: readonly Digest[]): Uint8Array {
  const names = [...new Set(digests)].toSorted();
  const lines = names.map((digest) => `${hexOf(digest)}  ${blobName(digest)}\n`);
  return new TextEncoder().encode(lines.join(""));
}

function indexBytes(manifest: Blob, statement: Blob): Uint8Array {
  return canonicalJsonBytes({
    schemaVersion: 2,
    mediaType: INDEX_MEDIA_TYPE,
    manifests: [
      {
        mediaType: MANIFEST_MEDIA_TYPE,
        artifactType: EVIDENCE_ARTIFACT_TYPE,
        digest: manifest.digest,
        size: manifest.bytes.length,
        annotations: { [REFERENCE]: "evidence" },
      },
      {
        mediaType: STATEMENT_MEDIA_TYPE,
        digest: statement.digest,
        size: statement.bytes.length,
      },
    ],
  });
}
