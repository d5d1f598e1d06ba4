import { canonicalJson } from "../core/canonical-json.ts";
import { isUpheldError } from "../core/errors.ts";
import { digestOf } from "../core/fingerprint.ts";
import { issuesOf } from "../core/issues.ts";
import { parseStrictJsonBytes } from "../core/strict-json.ts";
import { contradictionIn, MAX_RECEIPT_BYTES, Receipt } from "./receipt.ts";

/** Every way in which bytes are not a receipt that can be believed. The list is closed; `docs/spec/receipts.md` explains each. */
export const RECEIPT_FAULTS = {
  too_large: "It is larger than may be read.",
  json_invalid: "It is not JSON that can be read without loss: a duplicate key, say.",
  form_invalid: "It is not of the published form.",
  digest_changed: "Its digest is not that of the rest of it.",
  status_contradicted:
    "Its status does not follow from its sub-goals, or contradicts another field.",
} as const;
export type ReceiptFault = keyof typeof RECEIPT_FAULTS;

export interface RefusedReceipt {
  readonly ok: false;
  readonly reason: ReceiptFault;
  /** Where, or what was expected. Never a value of the receipt. */
  readonly at: string;
}

export type ReceiptReading = { readonly ok: true; readonly receipt: Receipt } | RefusedReceipt;

/**
 * Reads a receipt from the bytes that came over the wire. The digest is taken over everything that stands in them, also
 * fields that this reader does not know. Bad bytes are an answer, never an exception.
 */
export function readReceipt(bytes: Uint8Array): ReceiptReading {
  if (bytes.length > MAX_RECEIPT_BYTES)
    return refusedReceipt("too_large", `${bytes.length} bytes, at most ${MAX_RECEIPT_BYTES}`);
  const parsed = parsedOrRefused(() => parseStrictJsonBytes(bytes));
  if (!parsed.ok) return parsed;
  const form = Receipt.safeParse(parsed.value);
  if (!form.success) return refusedReceipt("form_invalid", issuesOf(form.error, 5));
  if (digestOf(digestedBytes(Object(parsed.value))) !== form.data.digest)
    return refusedReceipt("digest_changed", "/digest");
  const contradiction = contradictionIn(form.data);
  return contradiction === null
    ? { ok: true, receipt: form.data }
    : refusedReceipt("status_contradicted", contradiction);
}

/** What a digest is taken over: the canonical object without its key `digest`. */
function digestedBytes({
  digest: _digest,
  ...rest
}: Readonly<Record<string, unknown>>): Uint8Array {
  return new TextEncoder().encode(canonicalJson(rest));
}

export function refusedReceipt(reason: ReceiptFault, at: string): RefusedReceipt {
  return { ok: false, reason, at };
}

/** What a strict reader made of a text, or why it refused. */
export function parsedOrRefused<T>(
  read: () => T,
): { readonly ok: true; readonly value: T } | RefusedReceipt {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (isUpheldError(error)) return refusedReceipt("json_invalid", error.message);
    throw error;
  }
}
