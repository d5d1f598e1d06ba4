import { z } from "zod";
import { isUpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { SIGSTORE_MEDIA_TYPE } from "./dsse.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Hasher } from "./hasher.ts";
import { blobName, blobOf, INDEX_FILE, WITHHELD, type Blob } from "./layout.ts";
import { SUITE_REFERENCE } from "./reference.ts";
import type { BundleLimits } from "./limits.ts";
import type { BundleReader, ListedFile } from "./reader.ts";
import { STATEMENT_MEDIA_TYPE } from "./statement.ts";

/** The files of a bundle, of which nothing is believed yet. */
export interface StoredFiles {
  readonly reader: BundleReader;
  readonly files: ReadonlyMap<string, ListedFile>;
  readonly limits: BundleLimits;
}

/** Lists a bundle. Faults: those of the reader, and limit_exceeded where all files together are too large. */
export async function storedFiles(
  reader: BundleReader,
  limits: BundleLimits,
): Promise<StoredFiles | Fault> {
  const listing = await reader.list();
  if (!listing.ok) return listing;
  let total = 0;
  for (const { name, sizeBytes } of listing.files) {
    total += sizeBytes;
    if (total > limits.maxBundleBytes) return fault("limit_exceeded", name);
  }
  return { reader, files: new Map(listing.files.map((file) => [file.name, file])), limits };
}

/** A statement as the index names it, with the signatures behind it. */
export interface IndexedStatement {
  readonly digest: Digest;
  readonly signatures: readonly Digest[];
}

/** What the index says. That it says nothing else is compared later, with the one that we would write. */
export interface StoredIndex {
  readonly isSuite: boolean;
  readonly statements: readonly IndexedStatement[];
  readonly withheld: ReadonlySet<Digest>;
}

const Index = z.object({
  manifests: z.array(
    z.object({
      mediaType: z.string(),
      digest: z.string(),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
  ),
  annotations: z.record(z.string(), z.string()).optional(),
});

/** Reads the index. Faults: file_missing, limit_exceeded, index_invalid, statement_missing. */
export async function readIndex(stored: StoredFiles): Promise<StoredIndex | Fault> {
  const bytes = await readWhole(stored, INDEX_FILE, stored.limits.maxStatementBytes);
  if ("reason" in bytes) return bytes;
  const index = Index.safeParse(parsedJson(bytes));
  if (!index.success) return fault("index_invalid", INDEX_FILE);
  const { manifests, annotations } = index.data;
  const statements = statementsIn(manifests);
  const withheld = withheldIn(annotations);
  if (statements === null || withheld === null) return fault("index_invalid", INDEX_FILE);
  if (statements.length === 0) return fault("statement_missing", INDEX_FILE);
  const last = manifests.findLast(({ mediaType }) => mediaType === STATEMENT_MEDIA_TYPE);
  const isSuite = Object.values(last?.annotations ?? {}).includes(SUITE_REFERENCE);
  return { isSuite, statements, withheld };
}

/** The statements, each with the signatures that stand behind it; null where one has no digest. */
function statementsIn(
  manifests: z.infer<typeof Index>["manifests"],
): readonly IndexedStatement[] | null {
  const statements: { readonly digest: Digest; readonly signatures: Digest[] }[] = [];
  for (const { mediaType, digest: text } of manifests) {
    if (mediaType !== STATEMENT_MEDIA_TYPE && mediaType !== SIGSTORE_MEDIA_TYPE) continue;
    const digest = Digest.safeParse(text);
    if (!digest.success) return null;
    if (mediaType === SIGSTORE_MEDIA_TYPE) statements.at(-1)?.signatures.push(digest.data);
    else statements.push({ digest: digest.data, signatures: [] });
  }
  return statements;
}

function withheldIn(annotations: Readonly<Record<string, string>> = {}): Set<Digest> | null {
  const named = annotations[WITHHELD];
  if (named === undefined) return new Set();
  const digests = named.split(" ").map((text) => Digest.safeParse(text));
  const valid = digests.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return valid.length === digests.length ? new Set(valid) : null;
}

/** Reads a blob whole, and compares it with its name. Faults: file_missing, limit_exceeded, blob_changed. */
export async function readBlob(
  stored: StoredFiles,
  digest: Digest,
  { hasher, maxBytes }: { readonly hasher: Hasher; readonly maxBytes: number },
): Promise<Blob | Fault> {
  const name = blobName(digest);
  const bytes = await readWhole(stored, name, maxBytes);
  if ("reason" in bytes) return bytes;
  const blob = await blobOf(bytes, hasher);
  return blob.digest === digest ? blob : fault("blob_changed", name);
}

async function readWhole(
  { reader, files }: StoredFiles,
  name: string,
  maxBytes: number,
): Promise<Uint8Array | Fault> {
  const file = files.get(name);
  if (file === undefined) return fault("file_missing", name);
  return file.sizeBytes > maxBytes ? fault("limit_exceeded", name) : reader.read(file);
}

/** The JSON of a file, or undefined when it is none: no schema accepts that. */
export function parsedJson(bytes: Uint8Array): unknown {
  try {
    return parseStrictJsonBytes(bytes);
  } catch (error) {
    if (isUpheldError(error)) return undefined;
    throw error;
  }
}
