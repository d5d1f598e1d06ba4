import { canonicalJsonBytes } from "../core/canonical-json.ts";
import { Digest } from "../core/ids.ts";
import type { BundleFile } from "./bundle.ts";
import { ENVELOPES_MEDIA_TYPE, envelopeLines, SIGSTORE_MEDIA_TYPE, sigstoreBytes } from "./dsse.ts";
import type { Signature } from "./dsse.ts";
import type { Hasher } from "./hasher.ts";
import { hexOf, STATEMENT_MEDIA_TYPE, storedParts } from "./statement.ts";
import type { EvidencePart } from "./statement.ts";

export const EVIDENCE_ARTIFACT_TYPE = "application/vnd.upheld.evidence.v1+json";

const MANIFEST_MEDIA_TYPE = "application/vnd.oci.image.manifest.v1+json";
const INDEX_MEDIA_TYPE = "application/vnd.oci.image.index.v1+json";
const TITLE = "org.opencontainers.image.title";
const REFERENCE = "org.opencontainers.image.ref.name";
/** The index names the parts that a copy lacks, so that a part that was lost is not taken for one that was withheld. */
export const WITHHELD = "dev.upheld.withheld";

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

/** A statement and what belongs to it. */
export interface StatementFiles {
  /** What it is called in the index. */
  readonly reference: string;
  readonly statement: Blob;
  /** Undefined for a statement over other statements: there is no manifest. */
  readonly parts: readonly EvidencePart[] | undefined;
  /** In the order of their key ids. */
  readonly signatures: readonly Signature[];
}

/** What a bundle over these statements must hold. */
export interface Layout {
  /** Every file besides the parts, whole: each follows from the statements and signatures. */
  readonly derived: readonly BundleFile[];
  /** The names of all files, in canonical order. */
  readonly names: readonly string[];
}

/**
 * Works out every file besides the parts. A pure function of the statements, their signatures and what is withheld: two bundles
 * that agree in these differ in nothing.
 */
export async function layoutOf(
  statements: readonly StatementFiles[],
  withheld: ReadonlySet<Digest>,
  hasher: Hasher,
): Promise<Layout> {
  const described: Descriptor[] = [];
  for (const each of statements) described.push(...(await descriptorsOf(each, hasher)));
  const parts = statements.flatMap((each) => storedParts(each.parts ?? []));
  const listed = [
    EMPTY_CONFIG.digest,
    ...described.map(({ blob }) => blob.digest),
    ...parts.map(({ digest }) => digest),
  ];
  const derived = [
    { name: LAYOUT_FILE, bytes: canonicalJsonBytes({ imageLayoutVersion: "1.0.0" }) },
    { name: blobName(EMPTY_CONFIG.digest), bytes: canonicalJsonBytes({}) },
    ...described.map(({ blob }) => ({ name: blobName(blob.digest), bytes: blob.bytes })),
    { name: CHECKSUM_FILE, bytes: checksumBytes(listed) },
    { name: INDEX_FILE, bytes: indexBytes(described, withheld) },
  ];
  const here = parts.filter(({ state, digest }) => state !== "withheld" && !withheld.has(digest));
  const names = new Set([
    ...derived.map(({ name }) => name),
    ...here.map(({ digest }) => blobName(digest)),
  ]);
  return { derived, names: [...names].toSorted(compareNames) };
}

/** A blob as the index names it. */
interface Descriptor {
  readonly mediaType: string;
  readonly blob: Blob;
  readonly more?: Readonly<Record<string, unknown>>;
}

async function descriptorsOf(
  { reference, statement, parts, signatures }: StatementFiles,
  hasher: Hasher,
): Promise<readonly Descriptor[]> {
  const annotations = { [REFERENCE]: reference };
  const named = { mediaType: STATEMENT_MEDIA_TYPE, blob: statement };
  const signed: Descriptor[] = [];
  for (const each of signatures)
    signed.push({
      mediaType: SIGSTORE_MEDIA_TYPE,
      blob: await blobOf(sigstoreBytes(statement.bytes, each), hasher),
      more: titled(`${hexOf(each.keyId).slice(0, SHORT_ID)}.sigstore.json`),
    });
  if (signatures.length > 0)
    signed.push({
      mediaType: ENVELOPES_MEDIA_TYPE,
      blob: await blobOf(envelopeLines(statement.bytes, signatures), hasher),
      more: titled(`${reference}.intoto.jsonl`),
    });
  if (parts === undefined) return [{ ...named, more: { annotations } }, ...signed];
  const manifest: Descriptor = {
    mediaType: MANIFEST_MEDIA_TYPE,
    blob: await blobOf(manifestBytes(parts), hasher),
    more: { artifactType: EVIDENCE_ARTIFACT_TYPE, annotations },
  };
  return [manifest, named, ...signed];
}

/** Hex digits by which a key is told in the name of a signature. */
const SHORT_ID = 12;

function titled(title: string): Readonly<Record<string, unknown>> {
  return { annotations: { [TITLE]: title } };
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

function indexBytes(described: readonly Descriptor[], withheld: ReadonlySet<Digest>): Uint8Array {
  const annotations = { [WITHHELD]: [...withheld].toSorted().join(" ") };
  return canonicalJsonBytes({
    schemaVersion: 2,
    mediaType: INDEX_MEDIA_TYPE,
    manifests: described.map(({ mediaType, blob, more }) => ({
      mediaType,
      digest: blob.digest,
      size: blob.bytes.length,
      ...more,
    })),
    ...(withheld.size === 0 ? {} : { annotations }),
  });
}
