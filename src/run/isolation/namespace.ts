import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * How the overlay is mounted: `user` in a user namespace of our own (an ordinary user), `root` with the privilege
 * that the caller has already, so that an agent that runs as root keeps all of it.
 */
export type Namespaces = "user" | "root";

/** Where the tools of util-linux and the core utilities lie, behind the caller's own path. */
export const TOOL_PATH = [process.env["PATH"] ?? "", "/usr/sbin:/usr/bin:/sbin:/bin"].join(
  delimiter,
);

/** Arguments of `unshare` for a private mount namespace, with `processes` also one of processes that ends with it. */
export function namespaceArguments(
  namespaces: Namespaces,
  { processes }: { readonly processes: boolean },
): readonly string[] {
  return [
    ...(namespaces === "user" ? ["--user", "--map-root-user"] : []),
    "--mount",
    ...(processes ? ["--pid", "--fork", "--kill-child"] : []),
    "--",
  ];
}

/**
 * Options of the overlay mount, relative to a root's own state folder: no path of the user's is in them, so none has
 * to be escaped. `volatile` leaves out the write-back of the whole upper file system when the overlay goes.
 */
export function overlayOptions(namespaces: Namespaces): string {
  const own = namespaces === "user" ? ",userxattr" : "";
  return `lowerdir=lower,upperdir=upper,workdir=work,redirect_dir=nofollow,metacopy=off,index=off,volatile${own}`;
}

/** Options of a read-only mount of the same two layers, after the run. */
export function viewOptions(namespaces: Namespaces): string {
  const own = namespaces === "user" ? ",userxattr" : "";
  return `ro,lowerdir=upper:lower,redirect_dir=nofollow,metacopy=off${own}`;
}

/** The absolute path of a tool, or undefined where there is none. */
export function toolPath(name: string): string | undefined {
  return TOOL_PATH.split(delimiter)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface ToolResult {
  readonly code: number | null;
  /** The first 4 KiB of what it wrote to standard error. */
  readonly complaint: string;
}

/** Runs a tool to its end, nothing printed. Rejects with the signal's reason when aborted, and when it cannot start. */
export async function runTool(
  file: string,
  args: readonly string[],
  { signal, cwd = "/" }: { readonly signal?: AbortSignal | undefined; readonly cwd?: string } = {},
): Promise<ToolResult> {
  signal?.throwIfAborted();
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, PATH: TOOL_PATH, LC_ALL: "C" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const kill = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(0, 4096);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal?.throwIfAborted();
    return { code, complaint: complaint.trim() };
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}

/**
 * Removes a folder of overlay state. The kernel leaves directories of mode 000 in it, and so may the agent: inside a
 * user namespace the caller may enter them. Where no namespace is to be had any more, what can be removed without is.
 */
export async function removeState(folder: string, namespaces: Namespaces): Promise<void> {
  const remove = ["rm", "-rf", "--", folder];
  if (namespaces === "user") {
    const unshare = toolPath("unshare");
    const inside =
      unshare && (await runTool(unshare, ["--user", "--map-root-user", "--", ...remove]));
    if (inside && inside.code === 0) return;
  }
  const { code, complaint } = await runTool("rm", remove.slice(1));
  if (code !== 0) throw new Error(`the overlay's state cannot be removed: ${complaint}`);
}
