import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bench } from "./upheld.mjs";

/** Trees below one temporary folder, built when first asked for and shared by the rows. */
export function openTrees(folder) {
  const built = new Set();
  return {
    folder,
    tree(files) {
      const root = join(folder, `tree-${files}`);
      if (!built.has(root)) build(root, files);
      built.add(root);
      return root;
    },
    fresh(name) {
      const path = join(folder, name);
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path, { recursive: true });
      return path;
    },
    remove() {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function build(root, files) {
  process.stderr.write(`building ${files.toLocaleString("en")} files\n`);
  run([process.execPath, bench("build-tree.mjs"), root, String(files)]);
  // Else the first commands timed would share the disk with the build.
  run(["sync", "-f", root]);
}

/** Puts the changes of change-tree.mjs back. */
export function undoChanges(root) {
  run([process.execPath, bench("change-tree.mjs"), root, "--undo"]);
}

/** Runs a command that is not timed. */
export function run(command) {
  const [program, ...parameters] = command;
  const { status, signal, error, stderr } = spawnSync(program, parameters, {
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (error) throw error;
  if (status !== 0)
    throw new Error(`${command.join(" ")} ended with ${signal ?? status}: ${stderr.slice(-600)}`);
}
