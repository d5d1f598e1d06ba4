// Writes two bundles under one name, in turn and without an end: for tests that kill it.
// Arguments: the target, and "tar" or "directory". Prints the digests of both bundles first.
import { nodeHasher } from "../../dist/store/hasher.js";
import { writeBundle } from "../../dist/store/bundle-file.js";
import { sealBundle } from "../../dist/evidence/seal.js";

const [target, as] = process.argv.slice(2);

function inputOf(fill) {
  const parts = Array.from({ length: 8 }, (_, index) => ({
    state: "present",
    title: `part-${index}.bin`,
    mediaType: "application/octet-stream",
    content: { bytes: new Uint8Array(300_000).fill(fill + index) },
  }));
  const at = "2026-11-30T10:00:00.000000000Z";
  const producer = { name: "bundle-writer", version: "1" };
  return { run: { runId: `run-${fill}`, startedAt: at, endedAt: at, producer }, parts };
}

const bundles = [
  await sealBundle(inputOf(1), { hasher: nodeHasher }),
  await sealBundle(inputOf(101), { hasher: nodeHasher }),
];
console.log(bundles.map(({ digest }) => digest).join(" "));
for (let turn = 0; ; turn += 1) await writeBundle(target, bundles[turn % 2], { as });
