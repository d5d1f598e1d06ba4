import { describe, expect, test } from "vitest";
import { functionAgent, type AgentFunction } from "../../../src/run/agents/function-agent.ts";
import { turnOf } from "../turn.ts";

const turn = turnOf("hello");
const run = (answer: AgentFunction, options = {}) => functionAgent(answer).run(turn, options);

describe("a function as an agent", () => {
  test("is given the messages and whose turn it is, and answers", async () => {
    const roots = [{ name: "workspace", dir: "/w" }];
    const agent = functionAgent((messages, { runId, attemptId, roots: given }) =>
      JSON.stringify({ messages, runId, attemptId, roots: given }),
    );
    const { outcome, replies, gaps } = await agent.run({ ...turn, roots });
    expect([outcome, gaps]).toEqual([{ kind: "answered" }, []]);
    expect(JSON.parse(replies[0]?.text ?? "")).toEqual({
      messages: [{ role: "user", text: "hello" }],
      runId: turn.runId,
      attemptId: turn.attemptId,
      roots,
    });
  });

  test.each([
    [
      "throws",
      () => {
        throw new TypeError("cannot reach postgres://me:hunter2@db:5432/shop");
      },
      "TypeError: cannot reach postgres://***@db:5432/shop",
    ],
    ["rejects", () => Promise.reject(new Error("no key")), "Error: no key"],
    ["returns nothing", () => undefined, "the function returned undefined; expected text"],
    ["returns null", () => null, "the function returned null; expected text"],
    ["returns an object", () => ({}), "the function returned object; expected text"],
  ])("that %s has failed", async (_, answer, reason) => {
    const { outcome, replies } = await run(answer as unknown as AgentFunction);
    expect([outcome, replies]).toEqual([{ kind: "failed", reason }, []]);
  });

  test("is told when its time is over, and the turn ends without it", async () => {
    let told: unknown;
    const { outcome } = await run(
      (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            told = signal.reason;
          });
        }),
      { timeoutMs: 20 },
    );
    expect(outcome).toEqual({ kind: "timed_out", afterMs: 20 });
    expect(told).toBeDefined();
  });

  test("is left by an abort, with its reason, whatever it does later", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    const ended = run(
      (_, { signal }) =>
        new Promise((__, reject) => {
          signal.addEventListener("abort", () => setTimeout(() => reject(new Error("late")), 5));
        }),
      { signal: abort.signal },
    );
    abort.abort(reason);
    await expect(ended).rejects.toBe(reason);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  });

  test("may say more than is kept", async () => {
    const agent = functionAgent(() => "x".repeat(100), { limits: { maxReplyBytes: 10 } });
    const { replies, gaps } = await agent.run(turn);
    expect(replies[0]).toMatchObject({
      text: "x".repeat(10),
      textTruncated: true,
      totalBytes: 100,
    });
    expect(gaps).toMatchObject([{ code: "text_not_retained" }]);
  });
});
