import { randomUUID } from "node:crypto";
import { digestOf } from "../../core/fingerprint.ts";
import { AttemptId, RunId, type Digest } from "../../core/ids.ts";
import { timestampOf } from "../../core/timestamp.ts";
import {
  ARTIFACT_HEADERS,
  DeliveryReceived,
  DeliveryRefusal,
} from "../../evidence/delivery-answers.ts";
import { makeReceipt, receiptBytes, type ReceiptInput } from "../../evidence/receipt.ts";
import type { ScenarioAttempt } from "../../evidence/scenario-attempt.ts";
import { sealBundle } from "../../evidence/seal.ts";
import { hexOf } from "../../evidence/statement.ts";
import { tarPieces } from "../../evidence/tar.ts";
import { nodeHasher } from "../../store/hasher.ts";

/** A collector under test. */
export interface ContractCollector extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

/** What an upload says, where it differs from the truth or from the default. */
export interface Announced {
  readonly attempt?: ScenarioAttempt;
  readonly kind?: string;
  readonly digest?: Digest;
  readonly token?: string;
  /** Headers to leave out or to replace. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Speaks to a collector without any care: what it answers is "201 stored" or "422 kind_unknown". */
export class CollectorProbe {
  readonly #collector: ContractCollector;
  /** A job that no other check has. */
  readonly attempt: ScenarioAttempt = {
    jobId: `contract ${randomUUID()} \u00e9`,
    attemptId: AttemptId.parse(`attempt-${randomUUID()}`),
    attemptNumber: 1,
    scenarioKey: "refund/\u{1f4b6}",
    scenarioAttempt: 1,
  };

  constructor(collector: ContractCollector) {
    this.#collector = collector;
  }

  async put(bytes: Uint8Array, announced: Announced = {}): Promise<string> {
    const { attempt = this.attempt, kind = "evidence", digest = digestOf(bytes) } = announced;
    const values = { ...attempt, kind, sizeBytes: bytes.length };
    const headers = Object.entries(ARTIFACT_HEADERS).map(([field, header]): [string, string] => [
      header,
      // Both tables have the same keys.
      encodeURIComponent(values[field as keyof typeof ARTIFACT_HEADERS]),
    ]);
    const given = new Headers(headers);
    for (const [header, value] of Object.entries(announced.headers ?? {}))
      if (value === undefined) given.delete(header);
      else given.set(header, value);
    return this.#ask(`/v1/artifacts/${hexOf(digest)}`, "PUT", bytes, {
      token: announced.token,
      headers: given,
    });
  }

  post(bytes: Uint8Array, token?: string): Promise<string> {
    const headers = new Headers({ "content-type": "application/json" });
    return this.#ask("/v1/receipts", "POST", bytes, { token, headers });
  }

  /** Posts a receipt of this attempt, or of another. */
  postReceipt(fields: Partial<ReceiptInput> = {}): Promise<string> {
    return this.post(receiptBytes(makeReceipt(receiptOf(this.attempt, fields))));
  }

  async #ask(
    path: string,
    method: string,
    body: Uint8Array,
    {
      token = this.#collector.token,
      headers,
    }: { readonly token?: string | undefined; readonly headers: Headers },
  ): Promise<string> {
    headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(`${this.#collector.url}${path}`, {
      method,
      headers,
      body: Buffer.from(body),
    });
    return `${response.status} ${wordOf(await response.json().catch(() => null))}`;
  }
}

function wordOf(value: unknown): string {
  const received = DeliveryReceived.safeParse(value);
  if (received.success) return received.data.status;
  const refusal = DeliveryRefusal.safeParse(value);
  return refusal.success ? refusal.data.error.code : "(no answer of a collector)";
}

/** A receipt that passed, without evidence, where nothing else is said. */
export function receiptOf(
  attempt: ScenarioAttempt,
  fields: Partial<ReceiptInput> = {},
): ReceiptInput {
  const goal = { name: "refunded", held: true, judged: false, reason: null };
  return { attempt, outcome: { kind: "graded", subGoals: [goal] }, ...fields };
}

/** A sealed bundle that says which attempt it is of. */
export async function evidenceOf(attempt: ScenarioAttempt, text = "hello"): Promise<Uint8Array> {
  const time = timestampOf(0n);
  const { jobId, attemptId, scenarioKey, scenarioAttempt } = attempt;
  const bundle = await sealBundle(
    {
      run: {
        runId: RunId.parse("run-1"),
        jobId,
        attemptId,
        scenarioKey,
        scenarioAttempt,
        startedAt: time,
        endedAt: time,
        producer: { name: "contract", version: "1" },
      },
      parts: [
        {
          state: "present",
          title: "transcript.jsonl",
          mediaType: "application/x-ndjson",
          content: { lines: [{ role: "agent", text }] },
        },
      ],
    },
    { hasher: nodeHasher },
  );
  return Buffer.concat([...tarPieces(bundle.files)]);
}
