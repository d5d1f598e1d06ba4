import type { ArtifactPolicy } from "../../evidence/artifact-kinds.ts";
import type { ContractCheck } from "../source-contract.ts";
import { artifactChecks } from "./artifact-checks.ts";
import { CollectorProbe, type ContractCollector } from "./probe.ts";
import { receiptChecks } from "./receipt-checks.ts";

export interface CollectorContractOptions {
  /**
   * Starts a collector that keeps this policy and takes any job. Called once a check, which stops it; one that serves many
   * checks is fine too, since each check has a job of its own.
   */
  readonly start: (policy: Partial<ArtifactPolicy>) => Promise<ContractCollector>;
}

/**
 * What every collector owes to those who deliver to it, as checks for any test runner:
 * `for (const { name, run } of collectorContract({ start })) test(name, run)`.
 */
export function collectorContract({ start }: CollectorContractOptions): readonly ContractCheck[] {
  return [...artifactChecks, ...receiptChecks].map(({ name, policy = {}, run }) => ({
    name,
    run: async () => {
      await using collector = await start(policy);
      await run(new CollectorProbe(collector));
    },
  }));
}
