import type { Digest } from "../core/ids.ts";
import {
  ARTIFACT_HEADERS,
  DeliveryReceived,
  DeliveryRefusal,
} from "../evidence/delivery-answers.ts";
import type { ScenarioAttempt } from "../evidence/scenario-attempt.ts";
import { hexOf } from "../evidence/statement.ts";
import type { Destination } from "./destination.ts";
import { exchange, type Exchange, type Sending } from "./exchange.ts";
import { DEFAULT_RETRY, retryAfterOf, waitAfter, type RetryPolicy } from "./retry.ts";

/** What became of one thing that was sent. */
export type Answer =
  | { readonly kind: "received"; readonly duplicate: boolean }
  /** The collector will not take it: final. */
  | { readonly kind: "refused"; readonly status: number; readonly code: string }
  /** The token is not, or no longer, good: everything stops. */
  | { readonly kind: "fenced"; readonly status: number }
  /** An answer that is none of a collector's, such as a proxy's error page. It settles nothing. */
  | { readonly kind: "foreign"; readonly status: number }
  /** No answer after the last try. `isAlive`: the other side did answer, with 5xx. */
  | {
      readonly kind: "unanswered";
      readonly tries: number;
      readonly reason: string;
      readonly isAlive: boolean;
    };

/** An artifact to be sent: its bytes can be read more than once. */
export interface OutgoingArtifact {
  readonly attempt: ScenarioAttempt;
  readonly kind: string;
  readonly digest: Digest;
  readonly sizeBytes: number;
  readonly open: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface OutgoingReceipt {
  readonly digest: Digest;
  readonly bytes: Uint8Array;
}

/** Time and chance, so that a test can say what they are. */
export interface DeliveryTime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  /** Rejects with the signal's reason. */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Set once a collector has refused a token; shared by all clients of it. */
export interface Fence {
  status: number | null;
}

export interface ClientOptions {
  readonly time: DeliveryTime;
  readonly retry?: RetryPolicy;
  /** Milliseconds in which nothing moves before a try is given up. Default 30 s. */
  readonly idleMs?: number;
  readonly fence?: Fence;
}

export interface CollectorClient {
  /** Sends an artifact until it is answered. Rejects with the signal's reason. */
  putArtifact(artifact: OutgoingArtifact, signal?: AbortSignal): Promise<Answer>;
  /** Sends a receipt until it is answered. Rejects with the signal's reason. */
  postReceipt(receipt: OutgoingReceipt, signal?: AbortSignal): Promise<Answer>;
}

/**
 * Speaks to one collector. Sending the same thing again has no effect there, so silence, 429, 5xx and an acknowledgement
 * that cannot be believed are answered by sending again; 4xx is final; 401 and 403 fence: nothing is sent after them.
 */
export function collectorClient(
  { url, token }: Destination,
  { time, retry = DEFAULT_RETRY, idleMs = 30_000, fence = newFence() }: ClientOptions,
): CollectorClient {
  const authorization = `Bearer ${token}`;

  async function sendOnce(sending: Sending, digest: Digest): Promise<Judged> {
    return judged(await exchange(sending), digest, time.now());
  }

  async function deliver(sending: Sending, digest: Digest): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      if (fence.status !== null) return { kind: "fenced", status: fence.status };
      const { answer, retryAfterMs } = await sendOnce(sending, digest);
      if (answer.kind === "fenced") fence.status = answer.status;
      if (answer.kind !== "unanswered") return answer;
      if (tries >= retry.tries) return { ...answer, tries };
      const chance = time.random();
      await time.sleep(waitAfter(tries, { chance, retryAfterMs }, retry), sending.signal);
    }
  }

  return {
    async putArtifact(artifact, signal) {
      const sending: Sending = {
        url: `${url}/v1/artifacts/${hexOf(artifact.digest)}`,
        method: "PUT",
        headers: { authorization, ...artifactHeaders(artifact) },
        body: artifact.open,
        idleMs,
        signal,
      };
      const answer = await deliver(sending, artifact.digest);
      // Bytes can be damaged on the way, once.
      return answer.kind === "refused" && answer.code === "digest_mismatch"
        ? deliver(sending, artifact.digest)
        : answer;
    },
    postReceipt({ bytes, digest }, signal) {
      const headers = {
        authorization,
        "content-type": "application/json",
        "content-length": String(bytes.length),
      };
      const body = (): readonly Uint8Array[] => [bytes];
      return deliver(
        { url: `${url}/v1/receipts`, method: "POST", headers, body, idleMs, signal },
        digest,
      );
    },
  };
}

export function newFence(): Fence {
  return { status: null };
}

function artifactHeaders(artifact: OutgoingArtifact): Readonly<Record<string, string>> {
  const { attempt, kind, sizeBytes } = artifact;
  const values = { ...attempt, kind, sizeBytes };
  return {
    "content-type": "application/octet-stream",
    "content-length": String(sizeBytes),
    ...Object.fromEntries(
      Object.entries(ARTIFACT_HEADERS).map(([field, header]) => [
        header,
        // Both tables have the same keys.
        encodeURIComponent(values[field as keyof typeof ARTIFACT_HEADERS]),
      ]),
    ),
  };
}

interface Judged {
  readonly answer: Answer;
  readonly retryAfterMs: number | null;
}

function judged(given: Exchange, digest: Digest, nowMs: number): Judged {
  if (given.kind === "silence") return again(given.reason, false, null);
  const { status, value } = given;
  const retryAfterMs = retryAfterOf(given.retryAfter, nowMs);
  if (status === 401 || status === 403) return final({ kind: "fenced", status });
  if (status === 429 || status >= 500)
    return again(`status ${status}`, status !== 429, retryAfterMs);
  if (status >= 200 && status < 300) return acknowledged(value, digest);
  const refusal = DeliveryRefusal.safeParse(value);
  return refusal.success && status >= 400
    ? final({ kind: "refused", status, code: refusal.data.error.code })
    : final({ kind: "foreign", status });
}

/** An acknowledgement counts where it names what was sent: anything can answer 200. */
function acknowledged(value: unknown, digest: Digest): Judged {
  const received = DeliveryReceived.safeParse(value);
  return received.success && received.data.digest === digest
    ? final({ kind: "received", duplicate: received.data.status === "duplicate" })
    : again("an acknowledgement of something else", false, null);
}

function final(answer: Answer): Judged {
  return { answer, retryAfterMs: null };
}

function again(reason: string, isAlive: boolean, retryAfterMs: number | null): Judged {
  return { answer: { kind: "unanswered", tries: 0, reason, isAlive }, retryAfterMs };
}
