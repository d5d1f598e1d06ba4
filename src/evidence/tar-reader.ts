import { equalBytes, isZero } from "./bytes.ts";
import { fault } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { compareNames, isBundleName } from "./layout.ts";
import { BUNDLE_LIMITS } from "./limits.ts";
import type { BundleLimits } from "./limits.ts";
import type { BundleReader, ByteSource, ListedFile, Listing } from "./reader.ts";
import { TAR_BLOCK, TAR_END_BYTES, tarHeader, tarPaddingBytes } from "./tar.ts";

/** A file of the tar file, and where its content starts. */
interface Place extends ListedFile {
  readonly from: number;
}

type Scan = { readonly ok: true; readonly places: ReadonlyMap<string, Place> } | Fault;

/**
 * Reads a bundle that is one tar file. Accepts only the bytes that `tarPieces` writes for the same files, header,
 * padding and end included; holds no content. Faults: container_invalid, entry_refused, order_wrong, limit_exceeded.
 */
export function tarReader(source: ByteSource, limits: BundleLimits = BUNDLE_LIMITS): BundleReader {
  let scanned: Promise<Scan> | undefined;
  const scanOnce = (): Promise<Scan> => (scanned ??= scan(source, limits));
  return {
    async list(): Promise<Listing> {
      const found = await scanOnce();
      return found.ok ? { ok: true, files: [...found.places.values()] } : found;
    },
    async read({ name }, from = 0, length = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
      const found = await scanOnce();
      const place = found.ok ? found.places.get(name) : undefined;
      if (place === undefined || from >= place.sizeBytes) return new Uint8Array();
      return source.read(place.from + from, Math.min(length, place.sizeBytes - from));
    },
  };
}

async function scan(source: ByteSource, limits: BundleLimits): Promise<Scan> {
  const places = new Map<string, Place>();
  let last: Place | undefined;
  let at = 0;
  let header = await source.read(0, TAR_BLOCK);
  while (!isZero(header) || header.length < TAR_BLOCK) {
    const found = placeIn(header, at, last);
    if ("reason" in found) return found;
    if (places.size >= limits.maxFiles) return fault("limit_exceeded", found.name);
    places.set(found.name, found);
    last = found;
    // One read gets the padding and the next header.
    const padding = tarPaddingBytes(found.sizeBytes);
    const next = await source.read(found.from + found.sizeBytes, padding + TAR_BLOCK);
    if (next.length < padding || !isZero(next.subarray(0, padding))) {
      return fault("container_invalid", `the padding behind ${found.name}`);
    }
    at = found.from + found.sizeBytes + padding;
    header = next.subarray(padding);
  }
  return (await endsAt(source, at))
    ? { ok: true, places }
    : fault("container_invalid", `byte ${at}`);
}

/** Reads a header, which must be the one that we would write for what it says. */
function placeIn(header: Uint8Array, at: number, before: Place | undefined): Place | Fault {
  if (header.length < TAR_BLOCK) return fault("container_invalid", `byte ${at}`);
  const name = textIn(header.subarray(0, 100));
  if (!isBundleName(name) || isSpecial(header)) {
    return fault("entry_refused", name === "" ? `byte ${at}` : printable(name));
  }
  const sizeBytes = Number.parseInt(textIn(header.subarray(124, 136)), 8);
  const isCanonical = Number.isSafeInteger(sizeBytes) && sizeBytes >= 0;
  if (!isCanonical || !equalBytes(header, tarHeader(name, sizeBytes))) {
    return fault("container_invalid", `the header of ${name}`);
  }
  if (before !== undefined && compareNames(before.name, name) >= 0)
    return fault("order_wrong", name);
  return { name, sizeBytes, from: at + TAR_BLOCK };
}

/** Links, devices, pipes and directories have the types 1 to 7; "0" is a regular file. */
function isSpecial(header: Uint8Array): boolean {
  const type = header[156] ?? 0;
  return type >= 0x31 && type <= 0x37;
}

async function endsAt(source: ByteSource, at: number): Promise<boolean> {
  if (source.sizeBytes !== at + TAR_END_BYTES) return false;
  const end = await source.read(at, TAR_END_BYTES);
  return end.length === TAR_END_BYTES && isZero(end);
}

function textIn(field: Uint8Array): string {
  const end = field.indexOf(0);
  return String.fromCharCode(...(end === -1 ? field : field.subarray(0, end)));
}

/** A refused name as it may be shown: plain characters only. */
export function printable(name: string): string {
  return name.replaceAll(/[^ -~]/g, "?");
}
