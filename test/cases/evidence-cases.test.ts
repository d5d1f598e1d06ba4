import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/core/tool-call.ts";
import type { World, WorldTable } from "../../src/evidence/world/world.ts";
import { Workplace } from "../cli/upheld.ts";
import { openedBundle, type OpenedBundle } from "../support/opened-bundle.ts";
import {
  postgresMissing,
  startPostgres,
  type PostgresServer,
} from "../worlds/postgres-server.ts";

const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

type Step = Readonly<Record<string, unknown>>;

interface Counts {
  readonly rows_total?: number;
  readonly rows_shown?: number;
  readonly changed_total?: number;
  readonly changed_shown?: number;
  readonly first_shown?: Readonly<Record<string, unknown>>;
}

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly input: { readonly world: readonly Step[]; readonly run: readonly Step[] };
  readonly want: {
    readonly tables?: Readonly<Record<string, Counts>>;
    readonly counts?: Readonly<Record<string, Counts>>;
    readonly every_table_named?: readonly string[];
    readonly must_occur?: readonly string[];
    readonly world_bytes_max: number;
    readonly calls_total?: number;
    readonly calls_shown?: number;
    readonly call_result_bytes_max?: number;
  };
}

const CASES: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "evidence.json"), "utf8"),
);

let server: PostgresServer;

beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** A step with the texts that the cases shorten: `{"repeat": [text, times]}`. */
function expanded(step: Step): Step {
  const { call } = step;
  if (typeof call !== "object" || call === null || !("result" in call)) return step;
  const { result } = call;
  if (typeof result !== "object" || result === null || !("repeat" in result)) return step;
  const [text, times] = result.repeat as [string, number];
  return { ...step, call: { ...call, result: text.repeat(times) } };
}

async function sealedCase({ input }: Case): Promise<OpenedBundle> {
  using place = new Workplace();
  const { name, url } = await server.database();
  const client = await server.connect(name);
  for (const step of input.world) await client.query(String(step["sql"]));
  await client.end();
  const steps = place.write("steps.json", JSON.stringify(input.run.map(expanded)));
  const sealed = join(place.path, "run.upheld");
  const how = ["run", "--json", "--save", sealed, "--db", "sql=env:CASE_DATABASE"];
  const done = await place.upheld(
    [...how, "--calls", join(place.path, "calls.jsonl"), "--", process.execPath, PERFORM, steps],
    { CASE_DATABASE: url },
  );
  expect(done.code, done.stderr).toBe(0);
  return await openedBundle(sealed);
}

/** "public.orders" as the cases name it. */
const uriOf = (table: string): string => `sql:/${table.replace(".", "/")}`;

function tableIn({ tables }: World, name: string): WorldTable {
  const found = tables.find(({ uri }) => uri === uriOf(name));
  if (found === undefined) throw new Error(`${name} is not shown`);
  return found;
}

function settleTable(table: WorldTable, want: Counts): void {
  const { rowsTotal, rowsShown, changedTotal, changedShown, rows, columns } = table;
  if (want.rows_total !== undefined) expect(rowsTotal).toBe(want.rows_total);
  if (want.rows_shown !== undefined) expect(rowsShown).toBe(want.rows_shown);
  if (want.changed_total !== undefined) expect(changedTotal).toBe(want.changed_total);
  if (want.changed_shown !== undefined) expect(changedShown).toBe(want.changed_shown);
  for (const [column, value] of Object.entries(want.first_shown ?? {})) {
    const at = columns.findIndex(({ name }) => name === column);
    expect(rows[0]?.now?.[at]).toBe(String(value));
  }
}

function settleWorld({ parts, record }: OpenedBundle, want: Case["want"]): void {
  const [world] = record.worlds ?? [];
  if (world === undefined) throw new Error("no world was captured");
  expect(Buffer.byteLength(parts.get("world/sql.json") ?? "")).toBeLessThanOrEqual(
    want.world_bytes_max,
  );
  const all = [...world.tables, ...world.omittedTables];
  for (const [name, counts] of Object.entries(want.tables ?? {}))
    settleTable(tableIn(world, name), counts);
  for (const [name, counts] of Object.entries(want.counts ?? {}))
    expect(all.find(({ uri }) => uri === uriOf(name))?.rowsTotal).toBe(counts.rows_total);
  for (const name of want.every_table_named ?? [])
    expect(all.map(({ uri }) => uri)).toContain(uriOf(name));
  expect(world.omittedUnnamed).toBe(0);
}

function callsOf({ record }: OpenedBundle): readonly ToolCall[] {
  return record.observations.flatMap(({ payload }) =>
    payload.kind === "tools" ? payload.calls : [],
  );
}

function settleCalls(bundle: OpenedBundle, want: Case["want"]): void {
  const calls = callsOf(bundle);
  if (want.calls_shown !== undefined) expect(calls).toHaveLength(want.calls_shown);
  const recorders = bundle.record.observations.flatMap(({ payload }) =>
    payload.kind === "tools" ? payload.recorders : [],
  );
  if (want.calls_total !== undefined)
    expect(recorders.map(({ total }) => total)).toEqual([want.calls_total]);
  const most = want.call_result_bytes_max;
  if (most === undefined) return;
  const results = calls.map(({ sightings: [{ result }] }) => result);
  const cut = results.find((result) => result?.kind === "cut");
  // Five million bytes of text, in quotes.
  expect(cut).toMatchObject({ sizeBytes: 5_000_002 });
  expect(Buffer.byteLength(cut?.kind === "cut" ? cut.head : "")).toBeLessThanOrEqual(most);
}

describe("the cases of evidence, through the command line", () => {
  for (const each of CASES)
    test(`${each.id}: ${each.kind}`, { timeout: 240_000 }, async (context) => {
      context.skip(postgresMissing !== undefined, postgresMissing);
      const bundle = await sealedCase(each);
      settleWorld(bundle, each.want);
      settleCalls(bundle, each.want);
      const everything = [...bundle.parts.values()].join("\n");
      for (const part of each.want.must_occur ?? []) expect(everything).toContain(part);
    });
});
