import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  collectorClient,
  type ClientOptions,
  type CollectorClient,
} from "../../src/deliver/client.ts";
import { drainSpool, type Drained, type Told } from "../../src/deliver/drain.ts";
import { Spool, type SpoolAddition } from "../../src/deliver/spool.ts";
import { digestOf } from "../../src/core/fingerprint.ts";
import { makeReceipt, type ReceiptInput } from "../../src/evidence/receipt.ts";
import type { ScenarioAttempt } from "../../src/evidence/scenario-attempt.ts";
import { evidenceOf, receiptOf } from "../../src/testing/collector/probe.ts";
import type { CollectorStandIn } from "../../src/testing/collector/stand-in.ts";

/** Waits that take no time, and are written down. */
export interface TestTime {
  readonly time: ClientOptions["time"];
  readonly waits: number[];
}

export function testTime(chance = 0.5): TestTime {
  const waits: number[] = [];
  return {
    waits,
    time: {
      now: () => Date.parse("2026-11-30T10:00:00Z"),
      random: () => chance,
      sleep: async (milliseconds, signal) => {
        signal?.throwIfAborted();
        waits.push(milliseconds);
      },
    },
  };
}

/** A client of a stand-in that does not wait. */
export function clientOf(
  { url, token }: Pick<CollectorStandIn, "url" | "token">,
  options: Partial<ClientOptions> = {},
): CollectorClient {
  return collectorClient({ url, token }, { time: testTime().time, ...options });
}

/** A spool in a folder of its own. */
export class SpoolWorld implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "upheld-spool-"));

  open(): Spool {
    return new Spool(this.folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What is added of an attempt: a receipt, with evidence where a text is given. */
export async function additionOf(
  to: string,
  attempt: ScenarioAttempt,
  { text, ...fields }: Partial<ReceiptInput> & { readonly text?: string } = {},
): Promise<SpoolAddition> {
  if (text === undefined)
    return { to, receipt: makeReceipt(receiptOf(attempt, fields)), artifacts: [] };
  const bytes = await evidenceOf(attempt, text);
  const digest = digestOf(bytes);
  return {
    to,
    receipt: makeReceipt(receiptOf(attempt, { evidence: digest, ...fields })),
    artifacts: [{ kind: "evidence", digest, sizeBytes: bytes.length, pieces: [bytes] }],
  };
}

/** Sends what waits, once; with what was told as "evidence refused kind_unknown". */
export async function drained(
  spool: Spool,
  to: string,
  client: CollectorClient,
): Promise<Drained & { readonly told: readonly string[] }> {
  const told: string[] = [];
  const result = await drainSpool(spool, { to, client, tell: (each) => told.push(textOf(each)) });
  return { ...result, told };
}

function textOf({ what, answer }: Told): string {
  const name = what === "receipt" ? what : what.kind;
  return answer.kind === "refused" ? `${name} refused ${answer.code}` : `${name} ${answer.kind}`;
}
