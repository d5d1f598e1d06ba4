import type { Digest } from "../core/ids.ts";
import { ARTIFACT_KINDS, isArtifactKind } from "../evidence/artifact-kinds.ts";
import { receiptBytes, withoutArtifact, type Receipt } from "../evidence/receipt.ts";
import type { Answer, CollectorClient } from "./client.ts";
import type { Spool, SpooledArtifact, SpoolEntry } from "./spool.ts";

/** Something that was told on the way: an artifact or a receipt, and what became of it. */
export interface Told {
  readonly entry: SpoolEntry;
  readonly what: "receipt" | SpooledArtifact;
  readonly answer: Answer;
}

/** Why sending stopped before the end. */
export type Stop = Exclude<Answer["kind"], "received" | "refused">;

export interface Drained {
  readonly delivered: number;
  /** Receipts that were overtaken by a newer attempt's. */
  readonly superseded: number;
  readonly refused: number;
  /** Artifacts that were not taken; their receipts went without them and say so. */
  readonly withoutArtifacts: number;
  /** Entries that still wait. */
  readonly waiting: number;
  /** Null where everything was tried. */
  readonly stopped: Stop | null;
}

export interface DrainOptions {
  /** Only entries for this collector. */
  readonly to: string;
  readonly client: CollectorClient;
  readonly tell?: (told: Told) => void;
  readonly signal?: AbortSignal | undefined;
}

/** After so many answers that are none of a collector's, the address is taken to be a wrong one. */
const MAX_FOREIGN = 3;

/**
 * Sends what waits, in the order in which it was added: of each entry its artifacts, then the receipt. An entry that the
 * collector cannot take now holds back only later attempts at its scenario; a collector that is silent, fenced or no
 * collector at all holds back everything. Rejects with the signal's reason; what was received until then is noted.
 */
export async function drainSpool(spool: Spool, options: DrainOptions): Promise<Drained> {
  return new Drain(spool, options).run();
}

class Drain {
  readonly #spool: Spool;
  readonly #options: DrainOptions;
  readonly #held = new Set<string>();
  /** By job: what was said of its budget. */
  readonly #spent = new Map<string, "budget_spent" | "hard_cap_reached">();
  #foreign = 0;
  #counts = { delivered: 0, superseded: 0, refused: 0, withoutArtifacts: 0 };

  constructor(spool: Spool, options: DrainOptions) {
    this.#spool = spool;
    this.#options = options;
  }

  async run(): Promise<Drained> {
    let stopped: Stop | null = null;
    for (const entry of this.#spool.waiting) {
      if (entry.to !== this.#options.to || this.#held.has(scenarioOf(entry))) continue;
      this.#options.signal?.throwIfAborted();
      const answer = await this.#send(entry);
      stopped = this.#stopOf(entry, answer);
      if (stopped !== null) break;
    }
    return { ...this.#counts, waiting: this.#spool.waiting.length, stopped };
  }

  /** Holds back what has to wait for this entry; says when everything has to. */
  #stopOf(entry: SpoolEntry, answer: Answer): Stop | null {
    switch (answer.kind) {
      case "received":
      case "refused":
        this.#foreign = 0;
        return null;
      case "fenced":
        return "fenced";
      case "foreign":
        this.#held.add(scenarioOf(entry));
        this.#foreign += 1;
        return this.#foreign < MAX_FOREIGN ? null : "foreign";
      case "unanswered":
        this.#held.add(scenarioOf(entry));
        return answer.isAlive ? null : "unanswered";
    }
  }

  async #send(entry: SpoolEntry): Promise<Answer> {
    const refused = new Map(entry.refused);
    for (const artifact of entry.artifacts) {
      if (refused.has(artifact.digest)) continue;
      const answer = await this.#sendArtifact(entry, artifact);
      if (answer.kind === "refused") {
        if (answer.code === "attempt_superseded") return this.#settle(entry, answer);
        this.#spool.refuseArtifact(entry.sequence, artifact.digest, answer.code);
        refused.set(artifact.digest, answer.code);
      } else if (answer.kind !== "received") {
        return answer;
      }
    }
    return this.#sendReceipt(entry, refused);
  }

  async #sendArtifact(entry: SpoolEntry, artifact: SpooledArtifact): Promise<Answer> {
    const { client, signal, tell } = this.#options;
    const { receipt } = entry;
    const local = this.#localRefusal(receipt.jobId, artifact);
    const answer =
      local === null
        ? await client.putArtifact(
            { ...artifact, attempt: receipt, open: () => this.#spool.read(artifact.digest) },
            signal,
          )
        : ({ kind: "refused", status: 0, code: local } as const);
    if (answer.kind === "refused") this.#noteBudget(receipt.jobId, answer.code);
    tell?.({ entry, what: artifact, answer });
    return answer;
  }

  /** What need not be asked: bytes that are gone, and a budget that is known to be spent. */
  #localRefusal(jobId: string, artifact: SpooledArtifact): string | null {
    if (!this.#spool.holds(artifact)) return "artifact_lost";
    const spent = this.#spent.get(jobId);
    if (spent === undefined || spent === "hard_cap_reached") return spent ?? null;
    const { kind } = artifact;
    return isArtifactKind(kind) && ARTIFACT_KINDS[kind].reserved ? null : spent;
  }

  #noteBudget(jobId: string, code: string): void {
    if (code === "budget_spent" || code === "hard_cap_reached") this.#spent.set(jobId, code);
  }

  async #sendReceipt(entry: SpoolEntry, refused: ReadonlyMap<Digest, string>): Promise<Answer> {
    const { client, signal, tell } = this.#options;
    const receipt = receiptWithout(entry, refused);
    const outgoing = { digest: receipt.digest, bytes: receiptBytes(receipt) };
    const answer = await client.postReceipt(outgoing, signal);
    tell?.({ entry, what: "receipt", answer });
    if (answer.kind === "received") this.#counts.withoutArtifacts += refused.size;
    return this.#settle(entry, answer);
  }

  #settle(entry: SpoolEntry, answer: Answer): Answer {
    if (answer.kind === "received") {
      this.#spool.settle(entry.sequence, "delivered");
      this.#counts.delivered += 1;
    } else if (answer.kind === "refused") {
      const as = answer.code === "attempt_superseded" ? "superseded" : "refused";
      this.#spool.settle(entry.sequence, as, answer.code);
      this.#counts[as] += 1;
    }
    return answer;
  }
}

/** The receipt as it can be received: what was refused is told of, and no longer referenced. */
function receiptWithout(entry: SpoolEntry, refused: ReadonlyMap<Digest, string>): Receipt {
  return entry.artifacts.reduce((receipt, { kind, digest }) => {
    const reason = refused.get(digest);
    return reason === undefined ? receipt : withoutArtifact(receipt, { kind, digest, reason });
  }, entry.receipt);
}

function scenarioOf({ receipt }: SpoolEntry): string {
  return JSON.stringify([receipt.jobId, receipt.scenarioKey]);
}
