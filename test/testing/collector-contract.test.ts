import { describe, expect, test } from "vitest";
import { collectorContract } from "../../src/testing/collector/contract.ts";
import type { CollectorFault } from "../../src/testing/collector/fault.ts";
import type { ContractCollector } from "../../src/testing/collector/probe.ts";
import { startCollectorStandIn } from "../../src/testing/collector/stand-in.ts";

const start = (policy: object): Promise<ContractCollector> => startCollectorStandIn({ policy });

/** Every answer of it is the same. */
const always = (fault: CollectorFault) => (): Promise<ContractCollector> =>
  startCollectorStandIn({ faults: Array.from({ length: 20 }, () => fault) });

describe("the stand-in keeps the contract of collectors", () => {
  for (const { name, run } of collectorContract({ start })) test(`owed: ${name}`, run);
});

describe("a collector that does not keep the contract is found out", () => {
  const table = [
    ["it refuses everything", always({ kind: "status", status: 422, code: "never" })],
    ["it takes everything", always({ kind: "wrong_digest" })],
    ["it breaks", always({ kind: "status", status: 500 })],
  ] as const;
  for (const [what, start] of table)
    for (const { name, run } of collectorContract({ start }))
      test(`${what}: ${name}`, async () => {
        await expect(run()).rejects.toThrow(/contract of collectors/);
      });
});
