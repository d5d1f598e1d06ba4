// Seals what a run changed in a database, with every name, time and secret given, and prints each file of the bundle as its name
// and its digest: for tests that do it twice. Arguments: the address, a folder to write the bundle to (optional).
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Client } from "pg";
import { captureWorlds, captureLimits } from "../../dist/run/capture-world.js";
import { sealInputOf } from "../../dist/evidence/record/evidence-file.js";
import { sealBundle } from "../../dist/evidence/seal.js";
import { tarPieces } from "../../dist/evidence/tar.js";
import { SqlSurfaceSource } from "../../dist/sources/sql/source.js";
import { nodeHasher } from "../../dist/store/hasher.js";

const [url, out] = process.argv.slice(2);
const AT = "2026-11-30T10:00:00.000000000Z";
const ID = "00000000-0000-4000-8000-000000000001";
const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const producer = { name: "upheld", version: "0.1.0" };

const client = new Client({ connectionString: url });
await client.connect();
const source = new SqlSurfaceSource(
  { name: "shop", url },
  { attribution: "baseline", keepsMoment: true },
);
const baseline = await source.baseline();
for (const statement of [
  "UPDATE orders SET status = 'cancelled' WHERE id = 7",
  "INSERT INTO orders VALUES (341, 'ÄRGER I/ı', '2026-03-29 02:30:00+00', 'NaN')",
  "DELETE FROM notes WHERE body = 'zebra'",
])
  await client.query(statement);
await client.end();
// A transaction that has just ended may still be listed as open.
await setTimeout(1_000);
const scorable = { kind: "surface", uri: "shop:/**", surface: "sql", match: "glob" };
const [seen] = await source.observe([{ scorable, extent: "delta" }], { baseline });
await baseline[Symbol.asyncDispose]();
const observation = { ...seen, id: ID, observedAt: AT };
const roots = [{ name: "shop", surface: "sql", source }];
const worlds = await captureWorlds({ roots, capture: captureLimits({}) }, [observation], undefined);
const record = {
  run: { runId: "run-1", attemptId: "run-1.1", window: [AT, AT], labels: {} },
  roots: [{ name: "shop", surface: "sql" }],
  deltas: [observation],
  observations: [],
  scores: [],
  worlds,
};
const bundle = await sealBundle(sealInputOf(record, producer, secret), {
  hasher: nodeHasher,
  secret,
});
if (out !== undefined) writeFileSync(out, Buffer.concat([...tarPieces(bundle.files)]));
for (const { name, bytes } of bundle.files)
  console.log(`${name} ${createHash("sha256").update(bytes).digest("hex")}`);
console.log(bundle.digest);
await source[Symbol.asyncDispose]();
