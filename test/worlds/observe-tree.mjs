// Observes a tree in a process of its own: for tests that drop privileges, set limits or measure memory.
// Argument: JSON of { directory, asked, options, baseline, folder }. With `baseline`, takes one, prints "ready" and
// waits for a line; with `folder`, opens the baseline that is saved there. Prints one JSON object at the end.
import { createInterface } from "node:readline";
import { LocalFileSurfaceSource } from "../../dist/sources/local-files/source.js";
import { decideCondition } from "../../dist/scorers/decide.js";

const { directory, asked = [], options = {}, baseline, save, folder } = JSON.parse(process.argv[2]);
const source = new LocalFileSurfaceSource({ name: "workspace", directory }, options);

const timed = async (work) => {
  const from = performance.now();
  const cpu = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  return {
    result,
    ms: Math.round(performance.now() - from),
    cpuMs: Math.round((user + system) / 1000),
  };
};

let held;
let baselineMs;
let baselineCpuMs;
if (folder !== undefined) held = await source.openBaseline(folder);
else if (baseline === true || save !== undefined) {
  const taken = await timed(() => source.baseline());
  held = taken.result;
  baselineMs = taken.ms;
  baselineCpuMs = taken.cpuMs;
  if (save !== undefined) await source.saveBaseline(held, save);
}
if (baseline === true) {
  process.stdout.write("ready\n");
  const lines = createInterface({ input: process.stdin });
  await new Promise((resolve) => lines.once("line", resolve));
  lines.close();
}
const conditions = asked.map(({ uri, matcher, match = "glob" }) => ({
  kind: "content_written",
  uri,
  match,
  ...(matcher === undefined ? {} : { matcher }),
}));
const requests = asked.map(({ uri, match = "glob", extent = "candidates", scope, matcher }) => ({
  scorable: {
    kind: "surface",
    uri,
    surface: "file",
    match,
    ...(scope === undefined ? {} : { scope }),
  },
  extent,
  probes: matcher === undefined ? [] : [matcher],
}));
const context = { roots: [{ name: "workspace", surface: "file" }] };
const {
  result: observations,
  ms,
  cpuMs,
} = await timed(() => source.observe(requests, held === undefined ? {} : { baseline: held }));
const verdicts = observations.map((observation, index) =>
  asked[index].extent === "delta"
    ? undefined
    : decideCondition(conditions[index], context, () => observation).verdict,
);
const answer = {
  uid: process.getuid?.(),
  verdicts,
  ms,
  cpuMs,
  baselineMs,
  baselineCpuMs,
  digest: held?.digest,
  maxRssMb: Math.round(process.resourceUsage().maxRSS / 1024),
  // Large observations are counted, not printed.
  observations: observations.map((observation) =>
    observation.payload.entries.length > 2000
      ? { ...observation, payload: { ...observation.payload, entries: [] } }
      : observation,
  ),
};
await source[Symbol.asyncDispose]();
process.stdout.write(`${JSON.stringify(answer)}\n`);
