import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { canonicalJson, canonicalJsonBytes } from "../core/canonical-json.ts";
import { UpheldError } from "../core/errors.ts";
import type { Hasher } from "./hasher.ts";
import { hexOf } from "./statement.ts";

/**
 * Random bytes that a run's sealer alone knows: 32, at least 16. They salt the parts, so that the digest of a withheld part
 * says nothing of a content that could be guessed. They enter neither a bundle nor the agent's environment, and are forgotten.
 */
export type RunSecret = Uint8Array;

const LEAST_SECRET_BYTES = 16;

/** Hex digits of a salt: 128 bits. */
const SALT_LENGTH = 32;

/** What a part holds: bytes as they are, one JSON value, or one JSON value a line. */
export type PartContent =
  | { readonly bytes: Uint8Array }
  | { readonly json: unknown }
  | { readonly lines: readonly unknown[] };

/** The bytes of a part without a salt. */
export function plainBytes(content: PartContent): Uint8Array {
  // A copy: what the caller does with its bytes afterwards must not reach what was digested.
  if ("bytes" in content) return content.bytes.slice();
  if ("json" in content) return canonicalJsonBytes(content.json);
  return new TextEncoder().encode(content.lines.map((line) => `${canonicalJson(line)}\n`).join(""));
}

/**
 * The bytes of a part with its salt inside: as the member `salt` of an object, or as a line of its own before the others.
 * The salt follows from the secret and the content, so equal parts of one run are equal bytes and those of two runs are not.
 * Throws "argument_invalid" for content that has no place for a salt.
 */
export async function saltedBytes(
  content: PartContent,
  secret: RunSecret,
  { title, hasher }: { readonly title: string; readonly hasher: Hasher },
): Promise<Uint8Array> {
  if ("bytes" in content) throw unsaltable(title, "plain bytes");
  if ("json" in content && !isRoomy(content.json))
    throw unsaltable(title, "JSON that is no object, or has a member salt");
  const plain = plainBytes(content);
  const digest = await hasher.sha256(plain);
  const salt = keyedHex(secret, `salt ${hexOf(digest)}`).slice(0, SALT_LENGTH);
  if ("json" in content) return canonicalJsonBytes({ ...Object(content.json), salt });
  const head = new TextEncoder().encode(`${canonicalJson({ salt })}\n`);
  const bytes = new Uint8Array(head.length + plain.length);
  bytes.set(head);
  bytes.set(plain, head.length);
  return bytes;
}

/** 64 hex digits that only the holder of the secret can work out from the message (HMAC-SHA-256). */
export function keyedHex(secret: RunSecret, message: string): string {
  if (secret.length < LEAST_SECRET_BYTES)
    throw new UpheldError(
      "argument_invalid",
      `the run secret must have at least ${LEAST_SECRET_BYTES} bytes, got ${secret.length}`,
    );
  return bytesToHex(hmac(sha256, secret, new TextEncoder().encode(message)));
}

function isRoomy(json: unknown): boolean {
  return (
    typeof json === "object" &&
    json !== null &&
    !Array.isArray(json) &&
    !Object.hasOwn(json, "salt")
  );
}

function unsaltable(title: string, what: string): UpheldError {
  return new UpheldError("argument_invalid", `${title} cannot be salted: it is ${what}`);
}
