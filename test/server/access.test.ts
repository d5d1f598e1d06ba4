// Every route of the OpenAPI document, so that a new one cannot be forgotten.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES, type Scope } from "../../src/server/auth.ts";
import type { ContractCollector } from "../../src/testing/collector/probe.ts";
import { CollectorWorld, ask, bank, shop } from "../worlds/collector.ts";
import { judgmentOver } from "../worlds/judgments.ts";
import { deliver, type ShelvedRun } from "../worlds/shelved-run.ts";

const TIMEOUT_MS = 300_000;
/** Stands in all that the shop delivers, and in nothing else. */
const MARK = "only-of-the-shop";

interface Operation {
  readonly path: string;
  readonly method: string;
  /** The scope it needs; undefined: anyone may. */
  readonly scope: Scope | undefined;
  readonly names: readonly string[];
}

const world = new CollectorWorld();
let collector: ContractCollector;
let run: ShelvedRun;
let operations: readonly Operation[];
let ids: Readonly<Record<string, string>>;
const tokens = new Map<string, string>();

beforeAll(async () => {
  collector = await world.start();
  for (const project of [shop, bank])
    for (const scope of SCOPES)
      tokens.set(`${project} ${scope}`, await world.token(project, [scope]));
  tokens.set("bank all", await world.token(bank, SCOPES));
  tokens.set("shop all", await world.token(shop, SCOPES));
  run = await deliver(collector, { text: MARK, attempt: { jobId: MARK } });
  const judgment = judgmentOver(run.bundle, MARK);
  const body = JSON.stringify(judgment);
  await ask(`${collector.url}/v1/judgments`, token("shop judge"), { method: "POST", body });
  ids = await idsOfShop();
  operations = await operationsOf(`${collector.url}/v1/openapi.json`);
}, TIMEOUT_MS);
afterAll(() => world[Symbol.asyncDispose](), TIMEOUT_MS);

function token(name: string): string {
  return tokens.get(name) ?? "none";
}

/** What can stand in the place of a name of a path, all of it the shop's. */
async function idsOfShop(): Promise<Record<string, string>> {
  const { body: runs } = await ask(`${collector.url}/v1/runs`, token("shop read"));
  const { body: listed } = await ask(`${collector.url}/v1/tokens`, token("shop admin"));
  return {
    "/v1/tokens/{id}": (listed as { tokens: { id: string }[] }).tokens[0]?.id ?? "",
    "/v1/artifacts/{hex}": run.artifactHex,
    "/v1/bundles/{hex}": run.bundle.slice("sha256:".length),
    "/v1/runs/{id}": (runs as { runs: { id: string }[] }).runs[0]?.id ?? "",
  };
}

async function operationsOf(url: string): Promise<readonly Operation[]> {
  const { paths } = (await (await fetch(url)).json()) as {
    paths: Record<string, Record<string, { security?: { token: Scope[] }[] }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      path,
      method: method.toUpperCase(),
      scope: security?.[0]?.token[0],
      names: [...path.matchAll(/\{\w+\}/g)].map(([name]) => name),
    })),
  );
}

/** The address with the shop's names in it. A name that is not known here fails: add what the shop has of it. */
function addressOf({ path, names }: Operation): string {
  if (names.length === 0) return `${collector.url}${path}`;
  const prefix = Object.keys(ids).find((each) => path.startsWith(each));
  const id = prefix === undefined ? undefined : ids[prefix];
  if (prefix === undefined || id === undefined || names.length > 1)
    throw new Error(`what does the shop have at ${path}?`);
  return `${collector.url}${path.replace(/\{\w+\}/, id)}`;
}

/** A request that would be taken if it came with the right token, as far as its path decides that. */
function request({ method, path }: Operation): RequestInit {
  if (method === "GET" || method === "DELETE") return { method };
  if (path === "/v1/receipts") return { method, body: Buffer.from(run.receipt) };
  if (path === "/v1/judgments")
    return { method, body: JSON.stringify(judgmentOver(run.bundle, "x")) };
  return { method, body: "{}" };
}

/** Everything of the shop that can be read. */
async function shopState(): Promise<string> {
  const reads = operations.filter(({ method, scope }) => method === "GET" && scope !== undefined);
  const texts = reads.map(async (operation) => {
    const headers = { authorization: `Bearer ${token("shop all")}` };
    const response = await fetch(addressOf(operation), { headers });
    expect([operation.path, response.status]).toEqual([operation.path, 200]);
    return Buffer.from(await response.arrayBuffer()).toString("latin1");
  });
  return (await Promise.all(texts)).join("\n");
}

describe("every route", () => {
  test("is among those that are known to be open, or needs a scope", () => {
    const open = operations.filter(({ scope }) => scope === undefined).map(({ path }) => path);
    expect(open.toSorted()).toEqual(["/health", "/metrics", "/ready"]);
    expect(operations.length - open.length).toBeGreaterThan(8);
  });

  test("refuses who has no token, and who has one without its scope", async () => {
    for (const operation of operations.filter(({ scope }) => scope !== undefined)) {
      const address = addressOf(operation);
      const bare = await fetch(address, request(operation));
      expect([operation.path, bare.status]).toEqual([operation.path, 401]);
      for (const scope of SCOPES.filter((each) => each !== operation.scope)) {
        const { status } = await ask(address, token(`shop ${scope}`), request(operation));
        expect([operation.method, operation.path, scope, status]).toEqual([
          operation.method,
          operation.path,
          scope,
          403,
        ]);
      }
    }
  });

  test("neither tells nor changes anything of another project", async () => {
    const before = await shopState();
    expect(before).toContain(MARK);
    for (const operation of operations.filter(({ scope }) => scope !== undefined)) {
      const headers = { authorization: `Bearer ${token("bank all")}` };
      const response = await fetch(addressOf(operation), { ...request(operation), headers });
      const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
      const { method, path, names } = operation;
      expect([method, path, text.includes(MARK)]).toEqual([method, path, false]);
      expect([method, path, text.includes(run.artifactHex)]).toEqual([method, path, false]);
      if (names.length > 0 && method !== "PUT" && !path.startsWith("/v1/bundles/"))
        expect([method, path, response.status]).toEqual([method, path, 404]);
    }
    expect(await shopState()).toBe(before);
  });

  test("answers other verbs with 404", async () => {
    for (const operation of operations)
      for (const method of ["PATCH", "OPTIONS", "PROPFIND"]) {
        const { status } = await fetch(addressOf(operation), { method });
        expect([method, operation.path, status]).toEqual([method, operation.path, 404]);
      }
  });
});

test("a token of one project does for the other what a stranger's does", async () => {
  const own = await deliver(
    { ...collector, token: token("bank ingest") },
    { attempt: run.attempt },
  );
  expect(own.attempt).toEqual(run.attempt);
  const { body } = await ask(`${collector.url}/v1/runs`, token("bank read"));
  expect(body).toMatchObject({ total: 1 });
});

test("nothing failed on the way", () => {
  expect(world.failures).toEqual([]);
});
