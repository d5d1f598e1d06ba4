import { baselineChecks } from "./baseline-checks.ts";
import { withSource } from "./claims.ts";
import type { ContractSource, ContractWorld } from "./contract-world.ts";
import { limitChecks } from "./limit-checks.ts";
import { observationChecks } from "./observation-checks.ts";

/** One thing that a source owes. `run` rejects with what did not hold; `skip` says why it is not asked. */
export interface ContractCheck {
  readonly name: string;
  readonly run: () => Promise<void>;
  readonly skip?: string;
}

export interface SourceContractOptions {
  /** Makes an empty world; called once a check. */
  readonly make: () => ContractWorld | Promise<ContractWorld>;
  /** Checks that cannot be asked of this source, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
}

type Work = (world: ContractWorld) => Promise<void>;

/**
 * What every source of surface evidence owes, as checks for any test runner:
 * `for (const { name, run } of sourceContract({ make })) test(name, run)`. Throws on a skip that names no check.
 */
export function sourceContract({
  make,
  skip = {},
}: SourceContractOptions): readonly ContractCheck[] {
  const works = new Map<string, Work>([
    ...Object.entries(observationChecks).map(([name, check]) => [name, onSource(check)] as const),
    ...Object.entries(baselineChecks).map(
      ([name, check]) => [`baseline: ${name}`, onSource(unlessNone(check))] as const,
    ),
    ...limitChecks.map(({ name, limit, run }) => [name, ifKept(limit, run)] as const),
  ]);
  for (const name of Object.keys(skip))
    if (!works.has(name))
      throw new Error(`no check of the contract is named ${JSON.stringify(name)}`);
  return [...works].map(([name, work]) => {
    const reason = skip[name];
    return {
      name,
      ...(reason === undefined ? {} : { skip: reason }),
      run: async () => {
        const world = await make();
        try {
          await work(world);
        } finally {
          await world[Symbol.asyncDispose]();
        }
      },
    };
  });
}

type SourceCheck = (world: ContractWorld, source: ContractSource) => Promise<void>;

function onSource(check: SourceCheck): Work {
  return (world) => withSource(world.source(), (source) => check(world, source));
}

/** A source that takes no baseline owes nothing of one. */
function unlessNone(check: SourceCheck): SourceCheck {
  return async (world, source) => {
    if (source.baseline !== undefined) await check(world, source);
  };
}

/** A source owes something only at the limits that it keeps. */
function ifKept(limit: ContractWorld["limits"][number], run: Work): Work {
  return async (world) => {
    if (world.limits.includes(limit)) await run(world);
  };
}
