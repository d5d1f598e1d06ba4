import { readFileSync } from "node:fs";
import { isOutOfHandles } from "./confined.ts";
import type { ByteName } from "./name.ts";

/** The paths of mounts below a directory, as bytes. Empty where the system does not list mounts. */
export function mountsBelow(realPath: ByteName): ReadonlySet<ByteName> {
  const prefix = realPath === "/" ? "/" : `${realPath}/`;
  const found = new Set<ByteName>();
  for (const line of readMountInfo().split("\n")) {
    const point = line.split(" ")[4];
    if (point === undefined) continue;
    const path = point.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (path.startsWith(prefix)) found.add(path.slice(prefix.length));
  }
  return found;
}

/** The id of the mount that a handle is on: two mounts of one file system differ in it alone. */
export function mountIdOf(fd: number): string | undefined {
  try {
    return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
  } catch (error) {
    if (isOutOfHandles(error)) throw error;
    return undefined;
  }
}

function readMountInfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "latin1");
  } catch (error) {
    if (isOutOfHandles(error)) throw error;
    return "";
  }
}
