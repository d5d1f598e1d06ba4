import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The user to whom root drops where permissions matter. */
const NOBODY = 65_534;

export const isRoot = process.getuid?.() === 0;

/** Why a command cannot be run as an ordinary user here; undefined where it can. */
export const ordinaryUserMissing: string | undefined = missing();

/** The command as an ordinary user: as it is where the caller is one, through setpriv where it is root. */
export function asOrdinaryUser(command: readonly string[]): readonly string[] {
  if (!isRoot) return command;
  return [
    "setpriv",
    "--reuid",
    String(NOBODY),
    "--regid",
    String(NOBODY),
    "--clear-groups",
    "--",
    ...command,
  ];
}

/** A scratch folder that an ordinary user may write to; disposed with all that is in it, denied folders too. */
export function scratchFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "upheld-test-"));
  chmodSync(path, 0o755);
  if (isRoot) chownSync(path, NOBODY, NOBODY);
  return {
    path,
    [Symbol.dispose]: () => {
      if (!isRoot) execFileSync("chmod", ["-R", "u+rwx", path], { stdio: "ignore" });
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function missing(): string | undefined {
  if (!isRoot) return undefined;
  try {
    execFileSync("setpriv", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "root cannot drop to an ordinary user without setpriv (util-linux)";
  }
}
