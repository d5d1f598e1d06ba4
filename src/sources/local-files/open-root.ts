import type { ConfinedRoot } from "./confined.ts";
import { openPathRoot } from "./path-root.ts";
import { openProcRoot } from "./proc-root.ts";

/** Opens a root in the way of this system. Throws the system's error. */
export function openConfinedRoot(directory: string): ConfinedRoot {
  return process.platform === "linux" ? openProcRoot(directory) : openPathRoot(directory);
}
