import { z } from "zod";
import { UpheldError } from "../core/errors.ts";
import { digestOf, fingerprint } from "../core/fingerprint.ts";
import { Digest } from "../core/ids.ts";
import { issuesOf } from "../core/issues.ts";
import {
  decodeUtf8,
  parseJsonTree,
  type JsonTree,
  type NumeralReader,
} from "../core/strict-json.ts";
import { pythonJson, pythonNumeral, type PythonNumeral } from "./python-json.ts";
import { parsedOrRefused, refusedReceipt, type RefusedReceipt } from "./read-receipt.ts";
import { FailureDomain, MAX_RECEIPT_BYTES, followsFrom, ReceiptSubGoal } from "./receipt.ts";

export const HARNESS_SCHEMA = "futureagi.harness-result.v1";

const text = z.string().min(1);
const count = z.int().min(0);
const named = { name: text, kind: text, reason: z.string().nullable() };

const HarnessCall = z
  .object({
    started_at: text,
    ended_at: text,
    duration_ms: count,
    turns: count,
    transcript_artifact: z.string().nullable(),
    recording_artifacts: z.array(z.string()).readonly(),
    stop_reason: z.string().optional(),
  })
  .readonly();

/** A result as another harness writes it. It has no undecided status and no place for evidence. */
export const HarnessResult = z
  .object({
    schema_version: z.literal(HARNESS_SCHEMA),
    job_id: text,
    attempt_id: text,
    attempt_number: z.int().min(1),
    scenario_key: text,
    scenario_id: text,
    scenario_attempt: z.int().min(1).max(2),
    world_index: count.nullable(),
    status: z.enum(["passed", "failed", "errored", "skipped"]),
    sub_goals: z.array(ReceiptSubGoal).readonly(),
    evaluations: z
      .array(
        z.union([
          z.object({ ...named, score: z.number().min(0).max(1) }).readonly(),
          z.object({ ...named, passed: z.boolean() }).readonly(),
        ]),
      )
      .readonly(),
    call: HarnessCall.nullable(),
    failure: z
      .object({ domain: FailureDomain, stage: text, code: text, message: z.string() })
      .readonly()
      .nullable(),
    digest: Digest,
  })
  .readonly();
export type HarnessResult = z.infer<typeof HarnessResult>;

export type HarnessReading = { readonly ok: true; readonly result: HarnessResult } | RefusedReceipt;

/**
 * Reads a result from the bytes that came over the wire. Its digest is that of Python's canonical form (1.0 stays 1.0), so
 * numbers are taken as they are written. Bad bytes are an answer, never an exception.
 */
export function readHarnessResult(bytes: Uint8Array): HarnessReading {
  if (bytes.length > MAX_RECEIPT_BYTES)
    return refusedReceipt("too_large", `${bytes.length} bytes, at most ${MAX_RECEIPT_BYTES}`);
  const parsed = parsedOrRefused(() => {
    const json = decodeUtf8(bytes);
    // Once as written, for the digest; once as doubles, to be read.
    return { written: parseJsonTree(json, pythonNumeral), value: parseJsonTree(json, anyDouble) };
  });
  if (!parsed.ok) return parsed;
  const form = HarnessResult.safeParse(parsed.value.value);
  if (!form.success) return refusedReceipt("form_invalid", issuesOf(form.error, 5));
  if (digestOfWritten(parsed.value.written) !== form.data.digest)
    return refusedReceipt("digest_changed", "/digest");
  const contradiction = contradictionInResult(form.data);
  return contradiction === null
    ? { ok: true, result: form.data }
    : refusedReceipt("status_contradicted", contradiction);
}

/** Unknown fields may hold numbers that no double keeps; those of the form are checked by it. */
const anyDouble: NumeralReader<number> = (literal) => ({ value: Number(literal) });

/** The digest of a result: over Python's canonical text of it, without the key `digest`. */
export function pythonDigest(json: string): Digest {
  return digestOfWritten(parseJsonTree(json, pythonNumeral));
}

function digestOfWritten(written: JsonTree<PythonNumeral>): Digest {
  const { digest: _digest, ...rest } = Object(written);
  return digestOf(new TextEncoder().encode(pythonJson(rest)));
}

/** Gives a result its digest. It holds no fraction, so that the canonical forms of all languages are one. */
export function sealedResult(body: Omit<HarnessResult, "digest">): HarnessResult {
  const parsed = HarnessResult.safeParse({ ...body, digest: fingerprint(body) });
  if (!parsed.success) throw unfit(issuesOf(parsed.error));
  const contradiction = contradictionInResult(parsed.data);
  if (contradiction !== null) throw unfit(contradiction);
  return parsed.data;
}

function unfit(what: string): UpheldError {
  return new UpheldError("argument_invalid", `the receipt is no ${HARNESS_SCHEMA}: ${what}`);
}

/** What in a result contradicts itself, or null. */
function contradictionInResult(result: Omit<HarnessResult, "digest">): string | null {
  const { status, failure, sub_goals: goals, world_index: world } = result;
  switch (status) {
    case "passed":
    case "failed":
      return failure === null && followsFrom(status, goals)
        ? null
        : `${status} does not follow from its sub-goals`;
    case "errored":
      return failure === null ? "errored without a failure" : null;
    case "skipped":
      return world === null && isEmpty(result) ? null : "skipped, with results of a run";
  }
}

function isEmpty({
  sub_goals: goals,
  evaluations,
  call,
  failure,
}: Omit<HarnessResult, "digest">): boolean {
  return goals.length + evaluations.length === 0 && call === null && failure === null;
}
