import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProjectName, createToken, type Scope } from "../../src/server/auth.ts";
import { openCollectorStore, startCollector } from "../../src/server/collector.ts";

const folder = await mkdtemp(join(tmpdir(), "collector-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const shop = ProjectName.parse("shop");
const bank = ProjectName.parse("bank");

async function started(name: string) {
  const store = await openCollectorStore({ folder: join(folder, name) });
  const failures: unknown[] = [];
  const listening = async () =>
    startCollector(store, {
      host: "127.0.0.1",
      port: 0,
      version: "0.0.0",
      onFailure: (error) => failures.push(error),
    });
  return { store, listening, failures };
}

async function ask(url: string, options: RequestInit = {}): Promise<[number, unknown]> {
  const response = await fetch(url, options);
  const text = await response.text();
  return [response.status, text === "" ? null : JSON.parse(text)];
}

describe("tokens", () => {
  const collector = started("tokens");
  let url = "";
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    const { store, listening } = await collector;
    for (const [project, scope] of [
      [shop, "admin"],
      [shop, "read"],
      [bank, "admin"],
    ] as const) {
      const { token } = await createToken(store.database, { project, scopes: [scope], label: "x" });
      tokens.set(`${project} ${scope}`, token);
    }
    ({ url } = await listening());
  }, 300_000);

  const as = (project: string, scope: Scope): RequestInit => ({
    headers: { Authorization: `Bearer ${tokens.get(`${project} ${scope}`)}` },
  });

  test.each([
    ["none", {}, 401, "unauthorized"],
    ["of no form", { headers: { Authorization: "Bearer x" } }, 401, "unauthorized"],
    [
      "unknown",
      { headers: { Authorization: `Bearer upk_${"a".repeat(43)}` } },
      401,
      "unauthorized",
    ],
  ] as const)("a token that is %s is refused", async (_, options, status, code) => {
    const [got, body] = await ask(`${url}/v1/tokens`, options);
    expect([got, body]).toEqual([status, { error: { code, message: expect.any(String) } }]);
  });

  test("another scope is refused, and another project's tokens are not told of", async () => {
    const weak = await ask(`${url}/v1/tokens`, as("shop", "read"));
    expect(weak[0]).toBe(403);
    const [, { tokens: own }] = (await ask(`${url}/v1/tokens`, as("bank", "admin"))) as [
      number,
      { tokens: object[] },
    ];
    expect(own).toHaveLength(1);
  });

  test("a token is made, works, is revoked, and then does not", async () => {
    const at = `${url}/v1/tokens`;
    const [status, made] = await ask(at, {
      ...as("shop", "admin"),
      method: "POST",
      body: JSON.stringify({ label: "ci", scopes: ["admin"], expiresInDays: 1 }),
    });
    expect(status).toBe(201);
    const { id, token } = made as { id: string; token: string };
    const own = { headers: { Authorization: `Bearer ${token}` } };
    const [listed, { tokens: all }] = (await ask(at, own)) as [number, { tokens: object[] }];
    expect(listed).toBe(200);
    expect(JSON.stringify(all)).not.toContain(token);
    expect(all).toContainEqual(expect.objectContaining({ id, label: "ci", revokedAt: null }));
    expect((await ask(`${at}/${id}`, { ...as("shop", "admin"), method: "DELETE" }))[0]).toBe(204);
    expect((await ask(at, own))[0]).toBe(401);
  });

  test.each([
    ["no JSON", "{"],
    ["a scope that is none", '{"label":"x","scopes":["root"]}'],
    ["a member twice", '{"label":"x","label":"y","scopes":["read"]}'],
    ["more than it may have", `{"label":"${"x".repeat(20_000)}","scopes":["read"]}`],
  ])("%s is refused by name", async (_, body) => {
    const options = { ...as("shop", "admin"), method: "POST", body };
    const [status] = await ask(`${url}/v1/tokens`, options);
    expect([400, 413]).toContain(status);
    expect((await collector).failures).toEqual([]);
  });
});
