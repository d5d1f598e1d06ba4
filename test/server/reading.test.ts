import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContractCollector } from "../../src/testing/collector/probe.ts";
import { CollectorWorld, ask, bank, shop, type Answered } from "../worlds/collector.ts";
import { judgmentOver } from "../worlds/judgments.ts";
import { deliver, type ShelvedRun } from "../worlds/shelved-run.ts";

const TIMEOUT_MS = 300_000;

interface ListedPage {
  readonly runs: readonly { readonly id: string; readonly scenarioKey: string }[];
  readonly total: number;
  readonly before: string | null;
}

const world = new CollectorWorld();
let collector: ContractCollector;
let reader: string;
let polite: ShelvedRun;

const undecided = {
  outcome: {
    kind: "graded",
    subGoals: [
      { name: "was-polite", held: null, judged: true, reason: "not_judged" },
      { name: "refunded", held: true, judged: false, reason: null },
    ],
  },
} as const;

function attempt(jobId: string, scenarioKey: string) {
  return { jobId, scenarioKey };
}

beforeAll(async () => {
  collector = await world.start();
  reader = await world.token(shop, ["read", "judge"]);
  await deliver(collector, { attempt: attempt("nightly", "refund") });
  await deliver(collector, { attempt: attempt("nightly", "cancel 100%_sure") });
  polite = await deliver(collector, { attempt: attempt("hourly", "Grüße"), ...undecided });
  const failure = { domain: "agent", stage: "call", code: "crashed", message: "exit 9" } as const;
  const outcome = { kind: "errored", failure } as const;
  await deliver(collector, { attempt: attempt("hourly", "crash"), outcome });
  await deliver(collector, { attempt: { ...attempt("hourly", "crash"), scenarioAttempt: 2 } });
}, TIMEOUT_MS);
afterAll(() => world[Symbol.asyncDispose](), TIMEOUT_MS);

async function listed(query: string, token = reader): Promise<ListedPage> {
  const { status, body } = await ask(`${collector.url}/v1/runs${query}`, token);
  expect(status).toBe(200);
  return body as ListedPage;
}

const keysOf = ({ runs }: ListedPage): readonly string[] => runs.map((run) => run.scenarioKey);

describe("the list of runs", () => {
  test.each([
    ["", ["crash", "Grüße", "cancel 100%_sure", "refund"]],
    ["?all=true", ["crash", "crash", "Grüße", "cancel 100%_sure", "refund"]],
    ["?status=undecided", ["Grüße"]],
    ["?all=true&status=errored", ["crash"]],
    ["?job=nightly", ["cancel 100%_sure", "refund"]],
    ["?job=night", []],
    ["?search=nightly%20Sure", ["cancel 100%_sure"]],
    ["?search=NOT_JUDGED", ["Grüße"]],
    ["?search=GR%C3%9CSSE", []],
    ["?search=gr%C3%BC", ["Grüße"]],
    ["?search=%25", ["cancel 100%_sure"]],
    ["?search=nothing", []],
    ["?all=true&search=exit%209", ["crash"]],
    ["?review=true", ["Grüße"]],
  ])("finds by %j", async (query, keys) => {
    const page = await listed(query);
    expect(keysOf(page)).toEqual(keys);
    expect([page.total, page.before]).toEqual([keys.length, null]);
  });

  test("comes in pages that lose and repeat nothing", async () => {
    const keys: string[] = [];
    let query = "?limit=3&all=true";
    for (let pages = 0; pages < 2; pages += 1) {
      const page = await listed(query);
      expect(page.total).toBe(5);
      keys.push(...keysOf(page));
      query = `?limit=3&all=true&before=${page.before ?? "none"}`;
    }
    expect(keys).toEqual(["crash", "crash", "Grüße", "cancel 100%_sure", "refund"]);
    expect(query).toContain("before=none");
  });

  test.each([
    "?limit=0",
    "?limit=501",
    "?limit=x",
    "?before=-1",
    "?before=1e3",
    "?status=ok",
    "?all=1",
  ])("refuses %s", async (query) => {
    expect((await ask(`${collector.url}/v1/runs${query}`, reader)).status).toBe(400);
  });
});

const idOf = async (query: string): Promise<string> => (await listed(query)).runs[0]?.id ?? "";

describe("a run", () => {
  test("is told with its receipt and its artifacts", async () => {
    const id = await idOf("?search=hourly%20gr%C3%BC");
    const { body } = await ask(`${collector.url}/v1/runs/${id}`, reader);
    expect(body).toMatchObject({
      run: { id, jobId: "hourly", bundle: polite.bundle, toReview: ["was-polite"], isLatest: true },
      receipt: JSON.parse(new TextDecoder().decode(polite.receipt)),
      artifacts: [{ kind: "evidence", sizeBytes: polite.evidence.length }],
    });
  });

  test("gives back what was delivered, byte for byte", async () => {
    const id = await idOf("?search=hourly%20gr%C3%BC");
    const headers = { authorization: `Bearer ${reader}` };
    const receipt = await fetch(`${collector.url}/v1/runs/${id}/receipt`, { headers });
    expect(new Uint8Array(await receipt.arrayBuffer())).toEqual(polite.receipt);
    const at = `${collector.url}/v1/artifacts/${polite.artifactHex}`;
    const artifact = await fetch(at, { headers });
    expect(Buffer.compare(Buffer.from(await artifact.arrayBuffer()), polite.evidence)).toBe(0);
    expect(artifact.headers.get("content-disposition")).toContain("attachment");
    expect(artifact.headers.get("content-security-policy")).toContain("sandbox");
  });
});

const post = (judgment: unknown): Promise<Answered> =>
  ask(`${collector.url}/v1/judgments`, reader, {
    method: "POST",
    body: JSON.stringify(judgment),
  });

describe("judgments", () => {
  test("are appended once, and never changed", async () => {
    const judgment = judgmentOver(polite.bundle, "refunded");
    const answers = [
      await post(judgment),
      await post(judgment),
      await post({ ...judgment, claim: { ...judgment.claim, text: "another" } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 409]);
    const at = `${collector.url}/v1/bundles/${polite.bundle.slice("sha256:".length)}/judgments`;
    expect((await ask(at, reader)).body).toEqual({ judgments: [judgment], total: 1 });
  });

  test("of bundles that the project does not have are refused", async () => {
    const other = await world.token(bank, ["judge"]);
    const judgment = judgmentOver(polite.bundle, "refunded");
    const body = JSON.stringify(judgment);
    const answer = await ask(`${collector.url}/v1/judgments`, other, { method: "POST", body });
    expect(answer.status).toBe(404);
  });

  test("cannot hold a verdict without an answer", async () => {
    const judgment = judgmentOver(polite.bundle, "refunded", {
      outcome: { kind: "failed", code: "timed_out", detail: "" },
    });
    const lied = { ...judgment, verdict: { value: "refuted", counterexamples: [] } };
    expect((await post(lied)).status).toBe(400);
    expect((await post(judgment)).status).toBe(201);
  });

  test("of a person take a run out of the review queue, those of a model do not", async () => {
    const judge = { kind: "model", name: "m", parameters: {}, members: [] } as const;
    expect((await post(judgmentOver(polite.bundle, "was-polite", { judge }))).status).toBe(201);
    expect(keysOf(await listed("?review=true"))).toEqual(["Grüße"]);
    expect((await post(judgmentOver(polite.bundle, "was-polite"))).status).toBe(201);
    expect(keysOf(await listed("?review=true"))).toEqual([]);
  });
});

test("nothing failed on the way", () => {
  expect(world.failures).toEqual([]);
});
