import type { LimitName } from "../core/limits.ts";
import type { SurfaceObservation } from "../core/observation.ts";
import {
  before,
  claim,
  claimRefused,
  entryAt,
  everything,
  observeOne,
  withSource,
} from "./claims.ts";
import type { ContractWorld } from "./contract-world.ts";

/** What a source owes at one of its limits. `value` is met exactly by the world; one less is exceeded. */
interface LimitCase {
  readonly limit: LimitName;
  readonly value: number;
  readonly make: (world: ContractWorld) => Promise<void>;
  /** What must be told where the limit is exceeded. */
  readonly exceeded: (observation: SurfaceObservation, world: ContractWorld) => void;
}

const twoTexts = async (world: ContractWorld): Promise<void> => {
  await world.put("a.txt", "0123456789");
  await world.put("b.txt", "9876543210");
};

const cases: readonly LimitCase[] = [
  {
    limit: "maxFiles",
    value: 2,
    make: twoTexts,
    exceeded: ({ payload: { entries, coverage } }) => {
      claim(entries.length <= 1, `maxFiles 1 gave ${entries.length} entries`);
      claim(coverage.gaps.length > 0, "more locations than maxFiles are no gap");
      claim(coverage.shown === entries.length, "shown is not the number of entries");
      claim(coverage.total > coverage.shown, "what is not shown is not counted");
    },
  },
  {
    limit: "maxListedEntries",
    value: 2,
    make: twoTexts,
    exceeded: ({ payload: { coverage } }) => {
      claim(coverage.listed <= 1, `maxListedEntries 1, and ${coverage.listed} were listed`);
      claim(coverage.gaps.length > 0, "a listing that was cut is no gap");
    },
  },
  {
    limit: "maxReadBytes",
    value: 20,
    make: twoTexts,
    exceeded: ({ payload: { entries, coverage } }) => {
      claim(coverage.readBytes <= 19, `maxReadBytes 19, and ${coverage.readBytes} were read`);
      claim(
        entries.some(({ now }) => now?.sha256 === undefined && now?.unread !== undefined),
        "content that was not read whole is not said to be unread",
      );
    },
  },
  {
    limit: "maxContentBytes",
    value: 10,
    make: twoTexts,
    exceeded: (observation, world) => {
      const { now } = entryAt(observation, world, "a.txt");
      claim(now?.content?.truncated !== false, "content that was cut is not marked truncated");
      claim((now?.content?.value.length ?? 0) <= 9, "more content is kept than maxContentBytes");
    },
  },
];

function observeWith(world: ContractWorld, each: LimitCase, value: number) {
  return withSource(world.source({ [each.limit]: value }), async (source) => {
    const options = await before(source);
    await each.make(world);
    return observeOne(source, everything(world), options);
  });
}

/** Two checks a limit: what must be told beyond it, and that meeting it is not exceeding it. */
export const limitChecks = cases.flatMap(({ limit, ...each }) => [
  {
    name: `tells what ${limit} left out`,
    limit,
    run: async (world: ContractWorld) => {
      each.exceeded(await observeWith(world, { limit, ...each }, each.value - 1), world);
    },
  },
  {
    name: `meets ${limit} exactly without a gap`,
    limit,
    run: async (world: ContractWorld) => {
      const { payload } = await observeWith(world, { limit, ...each }, each.value);
      const hides = payload.coverage.gaps.filter(({ code }) => code !== "baseline_missing");
      claim(hides.length === 0, `a limit that is met exactly is a gap: ${hides[0]?.code}`);
      claim(payload.entries.length === 2, "a limit that is met exactly hides a location");
      for (const { now } of payload.entries)
        claim(now?.content?.truncated === false, "a limit that is met exactly cuts the content");
    },
  },
  {
    name: `refuses a ${limit} of -1`,
    limit,
    run: async (world: ContractWorld) => {
      await claimRefused(async () => {
        await withSource(world.source({ [limit]: -1 }), (source) =>
          source.observe([everything(world)]),
        );
      }, `a ${limit} of -1`);
    },
  },
]);
