import { describe, expect, test } from "vitest";
import { Conversation } from "../../src/core/conversation.ts";
import { AttemptId, ConversationId, MessageId, RunId } from "../../src/core/ids.ts";
import { parseObservation } from "../../src/core/observation.ts";
import { timestampOf, type Timestamp } from "../../src/core/timestamp.ts";
import { conversationLog, type ConversationLog } from "../../src/run/conversation-log.ts";
import {
  scopeOfMessage,
  type FoundMessage,
  type MessageStore,
} from "../../src/run/scope-of-message.ts";

const talk = ConversationId.parse("talk");
const owner = { attemptId: AttemptId.parse("attempt"), runId: RunId.parse("run") };
const second = (seconds: number): Timestamp => timestampOf(BigInt(seconds) * 1_000_000_000n);

/** A log whose clock moves on by a second with each look. */
function logOf(options = {}): ConversationLog {
  let seconds = 1_000;
  return conversationLog({
    clock: () => {
      seconds += 1;
      return second(seconds);
    },
    ...options,
  });
}

const observed = async (log: ConversationLog, throughSequence?: number) => {
  const scorable = {
    kind: "conversation" as const,
    conversationId: talk,
    ...(throughSequence === undefined ? {} : { throughSequence }),
  };
  const [observation] = await log.observe([{ scorable }]);
  const parsed = parseObservation(observation);
  expect(parsed.scorable).toEqual(scorable);
  if (parsed.payload.kind !== "conversation") throw new Error("another payload");
  return { acquisition: parsed.acquisition, ...parsed.payload };
};

describe("a conversation", () => {
  test("belongs to whom it was given, once", () => {
    const log = logOf();
    log.claim(talk, owner);
    log.claim(talk, owner);
    expect(log.conversation(talk).owner).toBe("attempt");
    for (const other of [
      { ...owner, attemptId: AttemptId.parse("other") },
      { ...owner, runId: RunId.parse("other") },
    ])
      expect(() => log.claim(talk, other)).toThrowError(
        expect.objectContaining({ code: "owner_conflict" }),
      );
    expect(log.conversation(talk).owner).toBe("attempt");
  });

  test("without an owner takes no message", () => {
    expect(() => logOf().append(talk, { role: "user", text: "hi" })).toThrowError(
      expect.objectContaining({ code: "argument_invalid" }),
    );
  });

  test("numbers its messages and times each", async () => {
    const log = logOf();
    log.claim(talk, owner);
    log.append(talk, { role: "system", text: "be brief" });
    log.append(talk, { role: "user", text: "hi" });
    const replies = ["a", "b"].map((text) => ({ text, textTruncated: false, totalBytes: 1 }));
    log.record(talk, { outcome: { kind: "answered" }, durationMs: 1, replies, gaps: [] });
    const { messages } = Conversation.parse(log.conversation(talk));
    expect(messages.map(({ sequence, role, text, at }) => [sequence, role, text, at])).toEqual([
      [0, "system", "be brief", second(1_001)],
      [1, "user", "hi", second(1_002)],
      [2, "assistant", "a", second(1_003)],
      [3, "assistant", "b", second(1_004)],
    ]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
    expect(await observed(log)).toMatchObject({ acquisition: "complete", gaps: [] });
    expect((await observed(log, 1)).conversation.messages).toHaveLength(2);
  });

  test("is a copy in each observation", async () => {
    const log = logOf();
    log.claim(talk, owner);
    log.append(talk, { role: "user", text: "hi" });
    const before = await observed(log);
    log.append(talk, { role: "user", text: "again" });
    expect(before.conversation.messages).toHaveLength(1);
  });

  test("of which a message was cut is partial, and says so", async () => {
    const log = logOf({ limits: { maxReplyBytes: 4 } });
    log.claim(talk, owner);
    log.append(talk, { role: "user", text: "ééé" });
    const { acquisition, conversation, gaps } = await observed(log);
    expect(acquisition).toBe("partial");
    expect(conversation.messages[0]).toMatchObject({ text: "éé", textTruncated: true });
    expect(gaps).toMatchObject([
      {
        code: "text_not_retained",
        location: "conversation:/talk",
        detail: "a message of the user: the first 4 of 6 bytes were kept",
      },
    ]);
  });

  test("of which nothing was recorded is unavailable, for the agent's reason", async () => {
    const log = logOf();
    log.claim(talk, owner);
    const missing = {
      code: "evidence_kind_missing",
      location: "reply",
      count: 1,
      remedy: "x",
    } as const;
    log.record(talk, {
      outcome: { kind: "exited", code: 0 },
      durationMs: 1,
      replies: [],
      gaps: [missing],
    });
    expect(await observed(log)).toMatchObject({
      acquisition: "unavailable",
      gaps: [{ code: "evidence_kind_missing", location: "conversation:/talk", detail: "reply" }],
    });
  });

  test("that is too long counts what it did not keep", async () => {
    const log = logOf({ maxMessages: 2 });
    log.claim(talk, owner);
    for (const text of ["a", "b", "c", "d"]) log.append(talk, { role: "user", text });
    const { conversation, gaps } = await observed(log);
    expect(conversation.messages.map(({ text }) => text)).toEqual(["a", "b"]);
    expect(gaps).toMatchObject([{ code: "text_not_retained", count: 2 }]);
  });
});

const opened = (): ConversationLog => {
  const log = logOf();
  log.claim(talk, owner);
  for (const text of ["first", "second", "third"]) log.append(talk, { role: "user", text });
  return log;
};
const idsOf = (log: ConversationLog): readonly MessageId[] =>
  log.conversation(talk).messages.map(({ id }) => id);

describe("the scope of a message", () => {
  const now = second(5_000);
  test("begins before the first message of its conversation, whichever it is", async () => {
    const log = opened();
    for (const id of idsOf(log))
      expect(await scopeOfMessage({ messageIds: [id] }, log, { now })).toEqual({
        window: [second(999), now],
        attemptId: "attempt",
      });
  });

  test("is widened by the skew that is given", async () => {
    const log = opened();
    const scope = await scopeOfMessage({ messageIds: [idsOf(log)[0] ?? ""] }, log, {
      now,
      clockSkewMs: 0,
    });
    expect(scope.window?.[0]).toBe(second(1_001));
  });

  test("never ends before its messages, should the clock have been set back", async () => {
    const log = opened();
    const scope = await scopeOfMessage({ messageIds: [idsOf(log)[0] ?? ""] }, log, {
      now: second(10),
    });
    expect(scope.window).toEqual([second(999), second(1_003)]);
  });

  test("of pieces is that of the message which holds them", async () => {
    const log = opened();
    const [id] = idsOf(log);
    const pieces: MessageStore = {
      find: (piece) => (piece.startsWith("piece-") && id ? log.find(id) : []),
    };
    const scope = await scopeOfMessage({ messageIds: ["piece-1", "piece-2"] }, pieces, { now });
    expect(scope.attemptId).toBe("attempt");
  });

  const other = ConversationId.parse("other");
  const both = (): ConversationLog => {
    const log = opened();
    log.claim(other, owner);
    log.append(other, { role: "user", text: "elsewhere" });
    return log;
  };
  test.each<[string, (log: ConversationLog) => readonly string[], string]>([
    ["nothing", () => [], "not a message"],
    [
      "an id twice",
      (log) => [idsOf(log)[0] ?? "", idsOf(log)[0] ?? ""],
      "a message id stands twice",
    ],
    ["what is no id", () => ["../x"], "not a message"],
    ["what is not stored", () => ["nobody"], "no stored message has the id nobody"],
    [
      "one stored and one not",
      (log) => [idsOf(log)[0] ?? "", "nobody"],
      "no stored message has the id nobody",
    ],
    ["two messages", (log) => idsOf(log).slice(0, 2), "the reference names 2 messages"],
    [
      "two conversations",
      (log) => [idsOf(log)[0] ?? "", log.conversation(other).messages[0]?.id ?? ""],
      "the reference names 2 conversations",
    ],
  ])("is refused for %s", async (_, idsIn, message) => {
    const log = both();
    await expect(scopeOfMessage({ messageIds: idsIn(log) }, log, { now })).rejects.toMatchObject({
      code: "reference_invalid",
      message: expect.stringContaining(message),
    });
  });

  test("is refused for pieces of two runs, and for an id that two runs share", async () => {
    const log = opened();
    const [found] = log.find(idsOf(log)[0] ?? MessageId.parse("x")) as readonly FoundMessage[];
    const elsewhere = { ...found, runId: RunId.parse("other") } as never;
    const shared: MessageStore = { find: () => [found, elsewhere] as never };
    await expect(scopeOfMessage({ messageIds: ["m"] }, shared, { now })).rejects.toMatchObject({
      code: "reference_invalid",
      message: expect.stringContaining("in 2 runs"),
    });
    const split: MessageStore = { find: (id) => [id === "a" ? found : elsewhere] as never };
    await expect(scopeOfMessage({ messageIds: ["a", "b"] }, split, { now })).rejects.toMatchObject({
      code: "reference_invalid",
      message: expect.stringContaining("2 runs"),
    });
  });

  test("a skew below 0 is misuse", async () => {
    const log = opened();
    const asked = scopeOfMessage({ messageIds: idsOf(log).slice(0, 1) }, log, {
      now,
      clockSkewMs: -1,
    });
    await expect(asked).rejects.toMatchObject({ code: "argument_invalid" });
  });
});
