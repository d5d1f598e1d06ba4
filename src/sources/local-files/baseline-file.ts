import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { UpheldError } from "../../core/errors.ts";
import { GapCode } from "../../core/gap.ts";
import { Digest } from "../../core/ids.ts";
import { wordsColumn } from "./column.ts";
import { columnsOf, Manifest, type Node } from "./manifest.ts";
import type { ByteName } from "./name.ts";
import type { Snapshot } from "./snapshot.ts";
import type { PlaceGap } from "./place-gap.ts";

const FILE = "local-files.baseline";
const MAGIC = "upheld local files baseline 1\n";

/** Where a root lay: the path by which it was named, and where that led. */
export interface RootPlace {
  readonly directory: string;
  /** One character a byte. */
  readonly realPath: ByteName;
}

interface Header {
  readonly count: number;
  readonly nameBytes: number;
  readonly takenAt: string;
  readonly timesAreProof: boolean;
  readonly digest: string;
  readonly gaps: readonly PlaceGap[];
  readonly targets: readonly (readonly [Node, string])[];
  readonly priorBytes: number;
  readonly touched: Snapshot["touched"];
  /** Not in what earlier versions wrote. */
  readonly place?: RootPlace | undefined;
}

/** Writes a snapshot into a folder, under a temporary name first. Throws the system's error. */
export function saveSnapshot(
  snapshot: Snapshot,
  place: RootPlace | undefined,
  folder: string,
): void {
  const path = join(folder, FILE);
  const temporary = `${path}.tmp`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    const hash = createHash("sha256");
    for (const piece of piecesOf(snapshot, place)) {
      hash.update(piece);
      writeAll(fd, piece);
    }
    writeAll(fd, hash.digest());
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}

/** A snapshot that was read back, and where its root lay, as far as that was written down. */
export interface LoadedSnapshot {
  readonly snapshot: Snapshot;
  readonly place: RootPlace | undefined;
}

/** Reads a snapshot back. Throws "state_invalid" where it is not there, was cut or was changed. */
export function loadSnapshot(folder: string): LoadedSnapshot {
  const bytes = readWhole(folder);
  const body = bytes.subarray(0, bytes.length - 32);
  if (
    !createHash("sha256")
      .update(body)
      .digest()
      .equals(bytes.subarray(bytes.length - 32))
  )
    throw invalid("it was cut or changed");
  if (body.toString("latin1", 0, MAGIC.length) !== MAGIC)
    throw invalid("it is of another kind or version");
  const headerLength = body.readUInt32LE(MAGIC.length);
  const from = MAGIC.length + 4;
  // Written by `saveSnapshot`, and its digest is right.
  const header = JSON.parse(body.toString("utf8", from, from + headerLength)) as Header;
  return {
    snapshot: restore(header, body.subarray(from + headerLength)),
    place: header.place,
  };
}

function* piecesOf(snapshot: Snapshot, place: RootPlace | undefined): Generator<Uint8Array> {
  const { tree } = snapshot;
  const header: Header = {
    count: tree.count,
    nameBytes: tree.names.usedBytes,
    takenAt: snapshot.takenAt.toString(),
    timesAreProof: snapshot.timesAreProof,
    digest: snapshot.digest,
    gaps: snapshot.gaps,
    targets: [...tree.targets],
    priorBytes: snapshot.prior.bytes.length,
    touched: snapshot.touched,
    place,
  };
  const text = Buffer.from(JSON.stringify(header), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  yield Buffer.from(MAGIC, "latin1");
  yield length;
  yield text;
  for (const column of columnsOf(tree)) yield* column.bytes(tree.count);
  yield* snapshot.prior.starts.bytes(tree.count);
  yield snapshot.prior.bytes;
}

function restore(header: Header, body: Buffer): Snapshot {
  const tree = new Manifest();
  let at = tree.fill(header.count, header.nameBytes, body);
  for (const [node, target] of header.targets) tree.targets.set(node, target);
  const starts = wordsColumn();
  at += starts.fill(header.count, body.subarray(at));
  const bytes = Buffer.from(new SharedArrayBuffer(header.priorBytes));
  at += body.copy(bytes, 0, at);
  if (at !== body.length) throw invalid("its parts do not add up");
  return {
    tree,
    gaps: header.gaps.map((gap) => ({ ...gap, code: GapCode.parse(gap.code) })),
    takenAt: BigInt(header.takenAt),
    timesAreProof: header.timesAreProof,
    prior: { bytes, starts },
    digest: Digest.parse(header.digest),
    touched: header.touched,
  };
}

function readWhole(folder: string): Buffer {
  try {
    const bytes = readFileSync(join(folder, FILE));
    if (bytes.length > MAGIC.length + 36) return bytes;
  } catch (error) {
    throw new UpheldError(
      "state_invalid",
      `no baseline of local files can be read in this folder (expected ${FILE})`,
      { cause: error },
    );
  }
  throw invalid("it is too short");
}

function invalid(why: string): UpheldError {
  return new UpheldError("state_invalid", `the baseline ${FILE} cannot be used: ${why}`);
}

/** A full disk may take a part and say nothing. */
function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}
