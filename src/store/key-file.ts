import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename } from "node:path";
import { UpheldError } from "../core/errors.ts";
import { Digest } from "../core/ids.ts";
import type { Signer, VerifyingKey } from "../evidence/signer.ts";
import { systemCode } from "./system-code.ts";

/** Node's name of P-256. */
const CURVE = "prime256v1";

/** A PEM of a key has some hundred bytes. */
const MAX_KEY_BYTES = 65_536;

/** A pair of keys that was written. */
export interface WrittenKeys {
  readonly keyId: Digest;
  readonly privatePath: string;
  readonly publicPath: string;
}

/**
 * Makes a pair of P-256 keys and writes both as PEM with mode 0600: the private one (PKCS #8) at `path`, the public one (SPKI)
 * beside it as `path.pub`. Throws "file_unwritable", also where one is there and `force` is not given.
 */
export function writeNewKeys(path: string, options: { readonly force: boolean }): WrittenKeys {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: CURVE });
  const publicPath = `${path}.pub`;
  const pem = {
    private: privateKey.export({ type: "pkcs8", format: "pem" }),
    public: publicKey.export({ type: "spki", format: "pem" }),
  };
  // Both or none: a key that has lost its other half is of no use.
  if (!options.force) refuseTaken([path, publicPath]);
  writeKey(publicPath, String(pem.public), options.force);
  try {
    writeKey(path, String(pem.private), options.force);
  } catch (error) {
    if (!options.force) rmSync(publicPath, { force: true });
    throw error;
  }
  return { keyId: keyIdOf(publicKey), privatePath: path, publicPath };
}

/** A private key in PEM that signs. Throws "file_unreadable" and "key_invalid". */
export function readSigner(path: string): Signer {
  const key = keyIn(path, "private", createPrivateKey);
  return {
    keyId: keyIdOf(createPublicKey(key)),
    sign: (message) => new Uint8Array(sign("sha256", message, { key, dsaEncoding: "ieee-p1363" })),
  };
}

/** A public key in PEM that is trusted because it is named here. Throws "file_unreadable" and "key_invalid". */
export function readVerifyingKey(path: string): VerifyingKey {
  const key = keyIn(path, "public", createPublicKey);
  return {
    keyId: keyIdOf(key),
    verify: (message, signature) =>
      verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature),
  };
}

/** A public key for another program that trusts it because it is named here: as PEM, written anew. Throws as `readVerifyingKey`. */
export function readPublicPem(path: string): string {
  return String(keyIn(path, "public", createPublicKey).export({ type: "spki", format: "pem" }));
}

/** The digest of a public key as SPKI in DER. */
function keyIdOf(key: KeyObject): Digest {
  const der = key.export({ type: "spki", format: "der" });
  return Digest.parse(`sha256:${createHash("sha256").update(der).digest("hex")}`);
}

function keyIn(
  path: string,
  kind: "private" | "public",
  parse: (pem: string) => KeyObject,
): KeyObject {
  const pem = readKey(path);
  // A public key can be worked out from a private one; a private one given for it is a mistake.
  const isKind = new RegExp(`^\\s*-----BEGIN (EC )?${kind.toUpperCase()} KEY-----`).test(pem);
  if (!isKind) throw invalid(path, kind);
  let key: KeyObject;
  try {
    key = parse(pem);
  } catch (cause) {
    throw invalid(path, kind, cause);
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== CURVE)
    throw invalid(path, kind);
  return key;
}

function readKey(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new UpheldError("file_unreadable", `cannot read the key ${path}: ${systemCode(cause)}`, {
      cause,
    });
  }
  return bytes.length > MAX_KEY_BYTES ? "" : bytes.toString("latin1");
}

function refuseTaken(paths: readonly string[]): void {
  for (const path of paths) {
    let fd: number;
    try {
      fd = openSync(path, "r");
    } catch {
      continue;
    }
    closeSync(fd);
    throw taken(path);
  }
}

function writeKey(path: string, pem: string, force: boolean): void {
  const target = force ? `${path}.part-${process.pid}` : path;
  try {
    // Opened anew, so that a file that was there lends it neither its mode nor a link.
    const fd = openSync(target, "wx", 0o600);
    try {
      writeSync(fd, pem);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (force) renameSync(target, path);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === "EEXIST") throw taken(target);
    throw new UpheldError("file_unwritable", `cannot write ${basename(path)}: ${code}`, { cause });
  }
}

function taken(path: string): UpheldError {
  return new UpheldError(
    "file_unwritable",
    `${path} is there: a key is not replaced without --force`,
  );
}

function invalid(path: string, kind: string, cause?: unknown): UpheldError {
  return new UpheldError("key_invalid", `${path} is no ${kind} key of P-256 as PEM`, { cause });
}
