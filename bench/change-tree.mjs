// The agent of the benchmark: node bench/change-tree.mjs ROOT [--undo]
// Makes 100 changes among the first 1,000 files, so that its own time does not depend on the size of the tree.
import { appendFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { contentOf, layout, writeContent } from "./build-tree.mjs";

const [root, undo] = process.argv.slice(2);

const CHANGES = {
  modified: {
    count: 50,
    make: (path) => appendFileSync(path, "one more line\n"),
    undo: (path, index) => writeContent(path, contentOf(index)),
  },
  created: {
    count: 20,
    make: (path) => writeFileSync(`${path}.new`, "a new file\n" + path),
    undo: (path) => rmSync(`${path}.new`),
  },
  deleted: {
    count: 20,
    make: (path) => rmSync(path),
    undo: (path, index) => writeContent(path, contentOf(index)),
  },
  moved: {
    count: 10,
    make: (path) => renameSync(path, movedPath(path)),
    undo: (path) => renameSync(movedPath(path), path),
  },
};

function movedPath(path) {
  return join(dirname(path), `moved ${basename(path)}`);
}

const kinds = Object.values(CHANGES).flatMap((change) => Array(change.count).fill(change));
for (const { index, path } of layout(1000)) {
  if (index % 10 !== 0) continue;
  const change = kinds[index / 10];
  if (undo === "--undo") change.undo(join(root, path), index);
  else change.make(join(root, path), index);
}
