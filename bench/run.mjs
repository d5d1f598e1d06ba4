// node bench/run.mjs [--only a,c] [--pairs 5] [--scale 1] [--dir FOLDER] [--json FILE] [--doc FILE]
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { isInstalled, measure, stopRunning, summarize, versionsOf } from "./measure.mjs";
import { row as delta } from "./rows/a-delta.mjs";
import { row as contentAgainstRg } from "./rows/b-content-against-rg.mjs";
import { row as contentAgainstPython } from "./rows/c-content-against-python.mjs";
import { row as isolate } from "./rows/d-isolate.mjs";
import { row as memory } from "./rows/e-memory.mjs";
import { row as rows } from "./rows/f-rows.mjs";
import { formatTable } from "./table.mjs";
import { openTrees } from "./trees.mjs";

const ROWS = [delta, contentAgainstRg, contentAgainstPython, isolate, memory, rows];
const PEERS = ["rg", "python3", "sha256sum", "find", "diff", "psql"];
// change-tree.mjs changes files among the first 1,000.
const FEWEST_FILES = 1000;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: ROWS.map((row) => row.id).join(",") },
    pairs: { type: "string", default: "5" },
    scale: { type: "string", default: "1" },
    dir: { type: "string", default: tmpdir() },
    json: { type: "string" },
    doc: { type: "string" },
  },
});

const only = options.only.split(",");
const pairs = Number(options.pairs);
const scale = Number(options.scale);
const unknown = only.filter((id) => !ROWS.some((row) => row.id === id));
if (unknown.length > 0)
  throw new Error(
    `--only must name rows of ${ROWS.map((row) => row.id).join(", ")}, got ${unknown.join(", ")}`,
  );
if (!Number.isInteger(pairs) || pairs < 1)
  throw new Error(`--pairs must be a whole number from 1, got ${options.pairs}`);
if (!(scale > 0)) throw new Error(`--scale must be a number above 0, got ${options.scale}`);

const trees = openTrees(mkdtempSync(join(resolve(options.dir), "upheld-bench-")));
const scratch = trees.fresh("scratch");
// Whatever the commands keep for later goes with the trees.
process.env.XDG_STATE_HOME = join(trees.folder, "state");
mkdirSync(process.env.XDG_STATE_HOME);

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    stopRunning();
    trees.remove();
    process.exit(130);
  });
}

const loadBefore = loadOf();
const startedAt = new Date().toISOString();
const results = [];
try {
  for (const row of ROWS.filter(({ id }) => only.includes(id)))
    results.push(...(await runRow(row)));
} finally {
  trees.remove();
}
report();

async function runRow(row) {
  const { id, title, aim } = row;
  const done = [];
  const without = (reason) => [
    ...done,
    { id, title, name: done.length === 0 ? "all" : "the rest", aim, notes: [reason] },
  ];
  if (row.missing) return without(`skipped, ${row.missing}`);
  const context = { trees, files: scaled(100_000), largeFiles: scaled(1_000_000) };
  try {
    for await (const { name, files, first, second } of row.cases(context)) {
      process.stderr.write(`${id}  ${title}: ${name}\n`);
      done.push({ id, title, name, files, aim, ...judge(aim, await compare(row, first, second)) });
    }
  } catch (error) {
    // A wrong answer has no figure, but the other rows keep theirs.
    process.exitCode = 1;
    return without(`failed, ${error.message}`);
  }
  return done;
}

function scaled(files) {
  return Math.max(FEWEST_FILES, Math.round(files * scale));
}

/** Times both sides in turn, after one turn that does not count; a side that cannot run leaves the other alone. */
async function compare(row, ...sides) {
  const reasons = sides.map(whyNot);
  const samples = [[], []];
  const turns = Math.min(pairs, row.mostPairs ?? pairs);
  for (let turn = row.mostPairs === undefined ? -1 : 0; turn < turns; turn += 1) {
    for (const [index, side] of sides.entries()) {
      if (reasons[index]) continue;
      const sample = await measure(side.command, { cwd: side.cwd, scratch });
      side.expect(sample.stdout);
      side.reset?.(sample.stdout);
      process.stderr.write(
        `   ${side.name}  ${sample.seconds.toFixed(2)} s${turn < 0 ? "  (not counted)" : ""}\n`,
      );
      if (turn >= 0) samples[index].push(sample);
    }
  }
  const [first, second] = sides.map((side, index) => describe(side, samples[index]));
  const both = first && second;
  const ratio = both && summarize(ratiosOf(samples, "seconds"));
  const cpuRatio = both && summarize(ratiosOf(samples, "cpuSeconds"));
  return {
    first,
    second,
    ratio,
    cpuRatio,
    notes: reasons.filter((reason) => reason !== undefined),
  };
}

/** Of each pair; absent where the figure is not known. */
function ratiosOf([first, second], key) {
  return first.flatMap((sample, turn) => {
    const ratio = sample[key] / second[turn][key];
    return Number.isFinite(ratio) ? [ratio] : [];
  });
}

function whyNot({ name, missing, needs = [] }) {
  const absent = needs.find((program) => !isInstalled(program));
  const reason = missing ?? (absent && `${absent} is not installed`);
  return reason && `${name} skipped, ${reason}`;
}

function describe({ name, command }, samples) {
  if (samples.length === 0) return undefined;
  const figures = (key) => summarize(samples.map((sample) => sample[key]));
  return {
    name,
    command,
    seconds: figures("seconds"),
    cpuSeconds: figures("cpuSeconds"),
    peakMb: figures("peakMb"),
    samples: samples.map(({ seconds }) => seconds),
  };
}

function judge(aim, compared) {
  const { first, second, ratio } = compared;
  if (aim.ratioAtMost !== undefined)
    return { ...compared, met: ratio && ratio.median <= aim.ratioAtMost };
  const peaks = [first?.peakMb?.max, second?.peakMb?.max];
  return {
    ...compared,
    met: peaks.includes(undefined) ? undefined : Math.max(...peaks) <= aim.peakMbAtMost,
  };
}

function report() {
  const machine = {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    cpus: availableParallelism(),
    loadBefore,
    loadAfter: loadOf(),
    peers: versionsOf(PEERS),
  };
  const table = formatTable(results);
  process.stdout.write(`${table}\n`);
  if (options.json)
    writeFileSync(
      options.json,
      `${JSON.stringify({ startedAt, machine, pairs, scale, rows: results }, null, 2)}\n`,
    );
  if (options.doc) {
    writeSection(options.doc, `${machineLine(machine)}\n\n${table}`);
  }
}

function machineLine({ node, platform, arch, cpus, peers, ...load }) {
  const others = Object.entries(peers).map(([program, version]) => `${program} ${version}`);
  return [
    `Node ${node}, ${platform} ${arch}, ${cpus} CPUs, ${pairs} pairs, scale ${scale}.`,
    `Load of the machine before and after: ${load.loadBefore} and ${load.loadAfter}.`,
    `Peers: ${others.join(", ")}.`,
  ].join(" ");
}

function loadOf() {
  return Number(loadavg()[0].toFixed(1));
}

/** Replaces what stands between the two marks in a document. */
function writeSection(path, text) {
  const marks = ["<!-- bench:begin -->", "<!-- bench:end -->"];
  const document = readFileSync(path, "utf8");
  const [from, to] = marks.map((mark) => document.indexOf(mark));
  if (from < 0 || to < from) throw new Error(`${path} must hold ${marks.join(" and ")}`);
  writeFileSync(
    path,
    `${document.slice(0, from + marks[0].length)}\n${text}\n${document.slice(to)}`,
  );
}
