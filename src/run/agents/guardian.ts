import { spawn } from "node:child_process";
import { systemCode } from "../../store/system-code.ts";
import { RUNS_VARIABLE } from "./process-table.ts";

/** Waits for the end of this process, and then kills an agent's processes. */
export interface Guardian {
  /** False where it could not be started: then nothing ends the agent when this process is killed. */
  readonly watches: () => boolean;
  /** Tells of the group to kill, besides every process that carries the run in its environment. */
  guard(group: number): void;
  /** The agent has ended: lets the guardian go without killing anything. */
  release(): void;
}

/**
 * Its standard input is a pipe that this process alone holds open. The kernel closes it whatever ends this process, but
 * not before a child that is just being started has become the agent: so none slips through. It looks again until nothing
 * is found three times in a row. It has a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
group=
while IFS= read -r line; do
  [ "$line" = release ] && exit 0
  group=$line
done
kill_one() { [ "$1" = "$$" ] || { kill -KILL "$1" 2>/dev/null && found=1; }; }
round=0 quiet=0
while [ $round -lt 300 ] && [ $quiet -lt 3 ]; do
  round=$((round + 1)) found=
  if [ -n "$group" ]; then
    kill -KILL -- "-$group" 2>/dev/null
    for file in /proc/[0-9]*/stat; do
      { IFS= read -r line < "$file"; } 2>/dev/null || continue
      set -- "$1" \${line##*) }
      [ "$5" = "$group" ] && [ "$2" != Z ] && { pid=\${file#/proc/}; kill_one "\${pid%/stat}"; }
    done
  fi
  for file in $(grep -lzE -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    kill_one "\${pid%/environ}"
  done
  if [ -n "$found" ]; then quiet=0; else quiet=$((quiet + 1)); sleep 0.1 2>/dev/null || sleep 1; fi
done
`;

export interface GuardianOptions {
  /** Default "/bin/sh". */
  readonly shell?: string;
  /** Told once, with the reason, where nothing ends the agent when this process is killed. */
  readonly onMissing?: ((why: string) => void) | undefined;
}

/** Starts a guardian for one run: a shell that waits, about 2 ms. On Windows there is none. */
export function startGuardian(
  runId: string,
  { shell: file = "/bin/sh", onMissing }: GuardianOptions = {},
): Guardian {
  if (process.platform === "win32") {
    onMissing?.("there is no guardian on Windows");
    return { watches: () => false, guard: () => {}, release: () => {} };
  }
  const pattern = `^${RUNS_VARIABLE}=(.*:)?${runId.replaceAll(".", "[.]")}(:.*)?$`;
  const shell = spawn(file, ["-c", SCRIPT, "upheld-guardian", pattern], {
    cwd: "/",
    // Bare: it must not carry the mark that it looks for, nor that of an enclosing run.
    env: { PATH: `${process.env["PATH"] ?? ""}:/usr/bin:/bin` },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  let watches = shell.pid !== undefined;
  let released = false;
  let told = false;
  const stop = (why: string): void => {
    watches = false;
    if (!released && !told) onMissing?.(why);
    told = true;
  };
  shell.once("error", (error) => stop(`${file} could not be started (${systemCode(error)})`));
  shell.once("exit", () => stop(`${file} ended before the agent did`));
  shell.stdin.on("error", () => stop(`${file} ended before the agent did`));
  // It must not keep this process from ending.
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return {
    watches: () => watches,
    guard: (group) => void (watches && shell.stdin.write(`${group}\n`)),
    release: () => {
      released = true;
      if (watches) shell.stdin.end("release\n");
    },
  };
}
