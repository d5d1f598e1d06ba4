import { accessSync, constants, existsSync, lstatSync, mkdirSync } from "node:fs";
import { mkdtempSync, opendirSync, readdirSync } from "node:fs";
import { readFileSync, realpathSync, statfsSync, symlinkSync } from "node:fs";
import { join, sep } from "node:path";
import { isSameProcess } from "../../store/process-mark.ts";
import { namespaceArguments, overlayOptions, removeState, runTool, toolPath } from "./namespace.ts";
import type { Namespaces } from "./namespace.ts";

/** A directory that the agent shall see as a layer of its own. */
export interface IsolatedRoot {
  readonly name: string;
  readonly dir: string;
}

/** What the probe found out, for `isolate`: real paths, and the privilege that works here. */
export interface IsolationPlan {
  readonly stateDir: string;
  readonly namespaces: Namespaces;
  readonly unshare: string;
  readonly roots: readonly IsolatedRoot[];
}

export type IsolationProbe =
  | { readonly ok: true; readonly plan: IsolationPlan }
  | { readonly ok: false; readonly reason: string };

const OVERLAY_MAGIC = 0x79_4c_76_30;

/** Entries directly in a root whose owner is looked at; what lies deeper shows itself when the agent writes to it. */
const MAX_OWNERS_READ = 1_000;

/**
 * Whether these roots can be put under overlays here, found by doing it once on a throw-away layer (tens of milliseconds).
 * Makes `stateDir` (mode 0700) and leaves nothing else. A "no" is data: the reason is for the caller's report.
 */
export async function probeIsolation(
  roots: readonly IsolatedRoot[],
  stateDir: string,
): Promise<IsolationProbe> {
  if (process.platform !== "linux") return no(`overlays need Linux, this is ${process.platform}`);
  const unshare = toolPath("unshare");
  if (unshare === undefined) return no("the program unshare (util-linux) is not installed");
  for (const tool of ["mount", "sh", "mkfifo", "rm"]) {
    if (toolPath(tool) === undefined) return no(`the program ${tool} is not installed`);
  }
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const real = roots.map(({ name, dir }) => ({ name, dir: realpathSync(dir) }));
    const realState = realpathSync(stateDir);
    const fault = placeFault(real, realState) ?? fileSystemFault(real, realState);
    if (fault !== undefined) return no(fault);
    return await tryPrivileges(real, realState, unshare);
  } catch (error) {
    return no(`a root or the state folder cannot be used: ${codeOf(error)}`);
  }
}

function no(reason: string): IsolationProbe {
  return { ok: false, reason };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function placeFault(roots: readonly IsolatedRoot[], stateDir: string): string | undefined {
  if (roots.length === 0) return "there is no root to isolate";
  for (const [index, { name, dir }] of roots.entries()) {
    if (isWithin(stateDir, dir)) return `the state folder lies inside root "${name}"`;
    if (isWithin(dir, stateDir)) return `root "${name}" lies inside the state folder`;
    const other = roots.find(
      (root, at) => at !== index && (isWithin(root.dir, dir) || isWithin(dir, root.dir)),
    );
    if (other !== undefined) return `the roots "${name}" and "${other.name}" overlap`;
  }
  return undefined;
}

function fileSystemFault(roots: readonly IsolatedRoot[], stateDir: string): string | undefined {
  const mounts = mountPoints();
  if (statfsSync(stateDir).type === OVERLAY_MAGIC) return "the state folder is on overlayfs";
  for (const { name, dir } of roots) {
    if (!lstatSync(dir).isDirectory()) return `root "${name}" is not a directory`;
    if (statfsSync(dir).type === OVERLAY_MAGIC) return `root "${name}" is on overlayfs`;
    const nested = mounts.find((point) => point !== dir && isWithin(point, dir));
    if (nested !== undefined) {
      const shown = JSON.stringify(nested.slice(dir === sep ? 1 : dir.length + 1));
      return `another file system is mounted at ${shown} below root "${name}"`;
    }
    const foreign = foreignOwner(dir);
    if (foreign !== undefined) {
      const shown = foreign === "" ? "" : `${JSON.stringify(foreign)} in `;
      return `${shown}root "${name}" can be written but belongs to another user or group`;
    }
  }
  return undefined;
}

function mountPoints(): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point !== "")
    .map((point) =>
      point.replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
}

/**
 * An entry that the caller may change but a user namespace cannot copy into the upper layer, as its owner or group has
 * no number there: the agent would see EOVERFLOW where without the overlay it would have succeeded.
 */
function foreignOwner(dir: string): string | undefined {
  if (process.geteuid?.() === 0) return undefined;
  if (isForeign(dir)) return "";
  const listing = opendirSync(dir);
  try {
    for (let read = 0; read < MAX_OWNERS_READ; read += 1) {
      const next = listing.readSync();
      if (next === null) return undefined;
      if (isForeign(join(dir, next.name))) return next.name;
    }
    return undefined;
  } finally {
    listing.closeSync();
  }
}

function isForeign(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isSymbolicLink()) return false;
  if (stats.uid === process.geteuid?.() && stats.gid === process.getegid?.()) return false;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Mounts every overlay over its root in namespaces like those of the run, and writes one file through each. */
const TRIAL = `
state=$1 options=$2 lowered=$3; shift 3
mount -t proc proc /proc 2>/dev/null
index=0
for root do
  cd "$state/$index" && mount -t overlay upheld -o "$options" "$root" || exit 71
  touch "$root/.upheld-probe" || exit 72
  index=$((index + 1))
done
if [ -n "$lowered" ]; then
  unshare --user --map-user="\${lowered%:*}" --map-group="\${lowered#*:}" -- true || exit 73
fi
`;

const TRIAL_FAULTS: Readonly<Record<number, string>> = {
  71: "an overlay cannot be mounted",
  72: "an overlay was mounted but cannot be written to",
  73: "a second user namespace cannot be made",
};

async function tryPrivileges(
  roots: readonly IsolatedRoot[],
  stateDir: string,
  unshare: string,
): Promise<IsolationProbe> {
  const candidates: readonly Namespaces[] = process.geteuid?.() === 0 ? ["root", "user"] : ["user"];
  let reason = "";
  for (const namespaces of candidates) {
    const fault = await tryOnce({ stateDir, namespaces, unshare, roots });
    if (fault === undefined) return { ok: true, plan: { stateDir, namespaces, unshare, roots } };
    reason = fault;
  }
  return no(reason);
}

/** The folder of a trial tells whose it is, so that one that was cut off can be cleared away. */
const TRIAL_PREFIX = ".probe-";

/** Removes what trials of processes that are gone left behind; returns how many there were. */
export async function sweepTrials(stateDir: string): Promise<number> {
  if (!existsSync(stateDir)) return 0;
  const left = readdirSync(stateDir).filter((name) => {
    const pid = Number(/^\.probe-(\d+)-/.exec(name)?.[1] ?? Number.NaN);
    return Number.isInteger(pid) && !isSameProcess(pid, "");
  });
  for (const name of left) await removeState(join(stateDir, name), "user");
  return left.length;
}

async function tryOnce(plan: IsolationPlan): Promise<string | undefined> {
  const folder = mkdtempSync(join(plan.stateDir, `${TRIAL_PREFIX}${process.pid}-`));
  try {
    for (const [index, { dir }] of plan.roots.entries()) {
      mkdirSync(join(folder, `${index}/upper`), { recursive: true });
      mkdirSync(join(folder, `${index}/work`));
      symlinkSync(dir, join(folder, `${index}/lower`));
    }
    const { code, complaint } = await runTool(plan.unshare, [
      ...namespaceArguments(plan.namespaces, { processes: true }),
      "sh",
      "-c",
      TRIAL,
      "upheld-probe",
      folder,
      overlayOptions(plan.namespaces),
      plan.namespaces === "user" ? `${process.geteuid?.()}:${process.getegid?.()}` : "",
      ...plan.roots.map(({ dir }) => dir),
    ]);
    if (code === 0) return undefined;
    const step =
      TRIAL_FAULTS[code ?? 0] ?? "no namespaces of users, mounts and processes can be made";
    const detail = withoutPaths(complaint.split("\n")[0] ?? "", plan.roots, folder);
    return detail === "" ? step : `${step} (${detail})`;
  } finally {
    await removeState(folder, plan.namespaces);
  }
}

function withoutPaths(text: string, roots: readonly IsolatedRoot[], folder: string): string {
  return roots
    .reduce((shorter, { name, dir }) => shorter.replaceAll(dir, name), text)
    .replaceAll(folder, "state");
}
