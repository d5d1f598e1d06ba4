import { claim, claimRefused, claimSame, entryAt, everything, observeOne } from "./claims.ts";
import type { Baseline } from "../core/source.ts";
import type { ContractSource, ContractWorld } from "./contract-world.ts";

type Check = (world: ContractWorld, source: ContractSource) => Promise<void>;

/** What a source owes that can hold on to the world before a run. */
export const baselineChecks: Readonly<Record<string, Check>> = {
  "tells what the run created, modified, deleted and left alone": async (world, source) => {
    for (const path of ["kept.txt", "modified.txt", "deleted.txt"]) await world.put(path, "before");
    const baseline = await taken(source);
    await world.put("modified.txt", "after, and longer");
    await world.put("created.txt", "after");
    await world.remove("deleted.txt");
    const delta = await observeOne(source, everything(world, { extent: "delta" }), { baseline });
    claimSame(
      delta.payload.entries.map(({ uri, change }) => `${change} ${uri}`).toSorted(),
      ["created", "deleted", "modified"].map((each) => `${each} ${world.root}:/${each}.txt`),
      "the delta",
    );
    claimSame(delta.payload.coverage.gaps, [], "the gaps of a delta of a world that can be read");
    const modified = entryAt(delta, world, "modified.txt");
    claimSame(
      modified.before?.content?.value,
      "before",
      "the prior content of a modified location",
    );
    claim(
      entryAt(delta, world, "deleted.txt").now === undefined,
      "what is deleted is not there now",
    );
  },

  "does not take what was there before for the run's": async (world, source) => {
    await world.put("planted.txt", "needle");
    const baseline = await taken(source);
    const seen = await observeOne(source, everything(world), { baseline });
    for (const { uri, change } of seen.payload.entries)
      claim(["unchanged", "touched"].includes(change), `${uri} was planted, yet is ${change}`);
  },

  "takes a change that was undone for no change of content": async (world, source) => {
    await world.put("a.txt", "before");
    const baseline = await taken(source);
    await world.put("a.txt", "other!");
    await world.put("a.txt", "before");
    const seen = await observeOne(source, everything(world, { path: "a.txt", match: "exact" }), {
      baseline,
    });
    const { change } = entryAt(seen, world, "a.txt");
    claim(["unchanged", "touched"].includes(change), `content that is as before is ${change}`);
  },

  "sees a change that keeps the size": async (world, source) => {
    await world.put("a.txt", "one");
    const baseline = await taken(source);
    await world.put("a.txt", "two");
    const seen = await observeOne(source, everything(world), { baseline });
    claimSame(entryAt(seen, world, "a.txt").change, "modified", "a change that keeps the size");
  },

  "names the baseline that it used": async (world, source) => {
    const baseline = await taken(source);
    const { attribution } = (await observeOne(source, everything(world), { baseline })).payload;
    claimSame(attribution.baseline, baseline.digest, "the digest of the baseline");
    claim(
      ["exact", "baseline", "baseline (stat)"].includes(attribution.method),
      `with a baseline the method is ${attribution.method}`,
    );
  },

  "gives equal worlds one digest, and others another": async (world, source) => {
    await world.put("a.txt", "one");
    const first = await taken(source);
    const again = await taken(source);
    await world.put("a.txt", "two");
    const other = await taken(source);
    claimSame(again.digest, first.digest, "the digest of the same world");
    claim(other.digest !== first.digest, "another world has the same digest");
  },

  "refuses a baseline that is not its own": async (world, source) => {
    const baseline: Baseline = { ...(await taken(source)) };
    await claimRefused(
      () => source.observe([everything(world)], { baseline }),
      "a baseline that this source did not take",
    );
  },

  "rejects a baseline with the signal's reason": async (_world, source) => {
    const reason = new Error("given up");
    const seen = await claimRefused(
      () => source.baseline?.({ signal: AbortSignal.abort(reason) }),
      "an aborted baseline",
    );
    claim(seen === reason, "an aborted baseline rejects with something else than the reason");
  },
};

async function taken(source: ContractSource): Promise<Baseline> {
  const baseline = await source.baseline?.();
  claim(baseline !== undefined, "the source takes no baseline");
  return baseline;
}
