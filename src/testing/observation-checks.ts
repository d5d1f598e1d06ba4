import type { Matcher } from "../core/matcher.ts";
import { parseObservation, gapsOf } from "../core/observation.ts";
import { globOfScorable } from "../core/scorable.ts";
import type { ContractSource, ContractWorld } from "./contract-world.ts";
import {
  before,
  claim,
  claimRefused,
  claimSame,
  entryAt,
  everything,
  factsOf,
  observeOne,
  surfaceOf,
  withSource,
} from "./claims.ts";

type Check = (world: ContractWorld, source: ContractSource) => Promise<void>;

/** SHA-256 of "some text". */
const SOME_TEXT = "sha256:b94f6f125c79e3a5ffaa826f584c10d52ada669e6762051b826b55776d05aed2";

const contains = (value: string): Matcher => ({
  kind: "contains",
  value,
  caseSensitive: true,
  lineEndings: "any",
  unicode: "nfc",
  alsoEncoded: [],
});

async function fill(world: ContractWorld): Promise<void> {
  await world.put("a.txt", "some text");
  await world.put("d/b.txt", "other text");
  await world.put("d/e/c.log", "a log");
}

/** What every source owes of its observations. */
export const observationChecks: Readonly<Record<string, Check>> = {
  "answers each request in order, with its scorable unchanged": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const requests = ["d/**", "**", "a.txt"].map((path) => everything(world, { path }));
    const observations = await source.observe(requests, options);
    claimSame(
      observations.map(({ scorable }) => scorable),
      requests.map(({ scorable }) => scorable),
      "the scorables that came back",
    );
    claimSame(
      observations.map((each) => surfaceOf(each).payload.scope),
      requests.map(({ scorable }) => scorable),
      "the scopes of the payloads",
    );
  },

  "answers no request with nothing": async (_world, source) => {
    claimSame(await source.observe([]), [], "the answer to no request");
  },

  "names itself the same way each time": async (world, source) => {
    const { source: named } = await observeOne(source, everything(world));
    claimSame(named, source.identifier(), "the source that an observation names");
  },

  "shows only locations that the scorable names, each once": async (world, source) => {
    const options = await before(source);
    await fill(world);
    for (const path of ["**", "d/**", "*.txt", "d/*.txt", "**/*.log", "none/**"]) {
      const { payload, scorable } = await observeOne(source, everything(world, { path }), options);
      const uris = payload.entries.map(({ uri }) => uri);
      claim(new Set(uris).size === uris.length, `a location stands twice under ${path}`);
      claim(scorable.kind === "surface", "the scorable is no surface");
      const glob = globOfScorable(scorable);
      for (const uri of uris) claim(glob.matches(uri), `${uri} is not one that ${path} names`);
    }
    const exact = everything(world, { path: "d/b.txt", match: "exact" });
    const one = await observeOne(source, exact, options);
    claimSame(
      one.payload.entries.map(({ uri }) => uri),
      [`${world.root}:/d/b.txt`],
      "the entries of an exact location",
    );
  },

  "shows every location that the run made": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const { payload } = await observeOne(source, everything(world), options);
    claimSame(
      payload.entries
        .filter(({ now }) => now?.type === "file")
        .map(({ uri }) => uri)
        .toSorted(),
      ["a.txt", "d/b.txt", "d/e/c.log"].map((path) => `${world.root}:/${path}`),
      "the locations",
    );
  },

  "says what the content is": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const { now } = entryAt(await observeOne(source, everything(world), options), world, "a.txt");
    claimSame(now?.content, { encoding: "utf-8", value: "some text", truncated: false }, "content");
    claimSame(now?.sha256, SOME_TEXT, "digest");
    claimSame(now?.sizeBytes, 9, "size");
  },

  "is complete exactly when it has no gap": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const whole = await observeOne(source, everything(world), options);
    claim(
      (whole.acquisition === "complete") === (gapsOf(whole.payload).length === 0),
      `acquisition is ${whole.acquisition} with ${gapsOf(whole.payload).length} gaps`,
    );
    claimSame(whole.acquisition, "complete", "the acquisition of a world that can be read");
  },

  "knows nothing of the run without a world before": async (world, source) => {
    await fill(world);
    const { payload } = await observeOne(source, everything(world));
    if (payload.attribution.method !== "none") return;
    for (const { uri, change, reasons } of payload.entries) {
      claim(change === "unknown", `${uri} is ${change}, yet nothing was known before`);
      claim(reasons?.includes("baseline_missing") === true, `${uri} does not say what is missing`);
    }
  },

  "names the parts of a scope that it did not apply": async (world, source) => {
    const scope = { labels: { team: "red" } };
    const { payload } = await observeOne(source, everything(world, { scope }));
    claim(
      payload.scopeKeysNotApplied.includes("labels"),
      "labels that no location carries are not named as not applied",
    );
  },

  "probes change no fact": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const plain = await observeOne(source, everything(world), options);
    const probes = [contains("some"), contains("absent")];
    const probed = await observeOne(source, everything(world, { probes }), options);
    const entries = probed.payload.entries.map((entry) =>
      entry.now === undefined ? entry : { ...entry, now: { ...entry.now, findings: undefined } },
    );
    const unprobed = { ...probed, payload: { ...probed.payload, entries } };
    claimSame(factsOf(unprobed), factsOf(plain), "the facts under probes");
  },

  "gives the same evidence of the same world": async (world, source) => {
    const options = await before(source);
    await fill(world);
    const first = await observeOne(source, everything(world), options);
    const again = await observeOne(source, everything(world), options);
    claimSame(factsOf(again), factsOf(first), "a second observation");
    claim(again.id !== first.id, "two observations have one id");
  },

  "survives being stored": async (world, source) => {
    const options = await before(source);
    await fill(world);
    for (const request of [everything(world), everything(world, { extent: "delta" })]) {
      const observation = await observeOne(source, request, options);
      const stored = parseObservation(JSON.parse(JSON.stringify(observation)));
      claimSame(stored, observation, "the stored observation");
    }
  },

  "rejects with the signal's reason": async (world, source) => {
    await fill(world);
    const reason = new Error("given up");
    const early = await claimRefused(
      () => source.observe([everything(world)], { signal: AbortSignal.abort(reason) }),
      "an observation that was aborted before",
    );
    claim(early === reason, "aborted before, it rejects with something else than the reason");
    const controller = new AbortController();
    const asked = source.observe([everything(world)], { signal: controller.signal });
    controller.abort(reason);
    const late = await claimRefused(() => asked, "an observation that was aborted meanwhile");
    claim(late === reason, "aborted meanwhile, it rejects with something else than the reason");
  },

  "refuses a location of another root": async (world, source) => {
    const { scorable } = everything(world);
    await claimRefused(
      () => source.observe([{ scorable: { ...scorable, uri: "another-root:/**" } }]),
      "a location of another root",
    );
  },

  "refuses a pattern that cannot be read": async (world, source) => {
    const { scorable } = everything(world);
    await claimRefused(
      () => source.observe([{ scorable: { ...scorable, uri: `${world.root}:/../x` } }]),
      "a pattern that leaves the root",
    );
  },

  "gives evidence of a world that cannot be reached": async (world) => {
    await withSource(world.unreachable(), async (source) => {
      const { acquisition, payload } = await observeOne(source, everything(world));
      claim(
        acquisition === "unavailable" || acquisition === "error",
        `the acquisition of a world that cannot be reached is ${acquisition}`,
      );
      claimSame(payload.entries, [], "the entries of a world that cannot be reached");
      claim(payload.coverage.gaps.length > 0, "a world that cannot be reached is no gap");
    });
  },
};
