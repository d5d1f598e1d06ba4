import { describe, expect, test } from "vitest";
import { parseAnswer } from "../../src/judge/answer.ts";
import { says } from "../worlds/judging.ts";

const answer = (...verdicts: unknown[]): string => JSON.stringify({ verdicts });

describe("an answer is taken", () => {
  test.each<readonly [string, string, readonly string[], readonly (boolean | null)[]]>([
    ["true", answer(says("a", true, [{ evidence: "E1" }])), ["a"], [true]],
    ["false", answer(says("a", false)), ["a"], [false]],
    ["null, which is an answer", answer(says("a", null)), ["a"], [null]],
    ["in another order", answer(says("b", true), says("a", false)), ["a", "b"], [false, true]],
    ["without cites", answer({ id: "a", held: true, reason: "r" }), ["a"], [true]],
    ["in a fence of code", `\`\`\`json\n${answer(says("a", true))}\n\`\`\``, ["a"], [true]],
    ["with space around", `\n ${answer(says("a", true))}\n\n`, ["a"], [true]],
    [
      "with fields that nobody knows",
      answer({ ...says("a", false), score: 1, passed: true }),
      ["a"],
      [false],
    ],
  ])("%s", (_name, text, asked, held) => {
    const parsed = parseAnswer(text, asked);
    expect(parsed.ok && asked.map((id) => parsed.answers.get(id)?.held)).toEqual(held);
  });
});

describe("an answer is refused", () => {
  test.each<readonly [string, string, readonly string[]]>([
    ["the text false", answer(says("a", "false")), ["a"]],
    ["the text true", answer(says("a", "true")), ["a"]],
    ["the text null", answer(says("a", "null")), ["a"]],
    ["a number", answer(says("a", 1)), ["a"]],
    ["held left out", answer({ id: "a", reason: "r", cites: [] }), ["a"]],
    ["no reason", answer({ id: "a", held: false, cites: [] }), ["a"]],
    ["a blank reason", answer(says("a", false, [], " \n")), ["a"]],
    ["a reason that is no text", answer(says("a", false, [], null)), ["a"]],
    ["no verdict at all", answer(), ["a"]],
    ["fewer verdicts", answer(says("a", true)), ["a", "b"]],
    ["one that was not asked", answer(says("a", true), says("b", true)), ["a"]],
    ["a renamed one", answer(says("A", true)), ["a"]],
    ["one with space", answer(says("a ", true)), ["a"]],
    ["one twice, alike", answer(says("a", true), says("a", true)), ["a"]],
    ["one twice, unlike", answer(says("a", true), says("a", false)), ["a"]],
    ["a list", JSON.stringify([says("a", true)]), ["a"]],
    ["one verdict alone", JSON.stringify(says("a", true)), ["a"]],
    ["verdicts by name", JSON.stringify({ verdicts: { a: says("a", true) } }), ["a"]],
    ["the older form", JSON.stringify({ items: [{ claim: "a", holds: true, why: "r" }] }), ["a"]],
    ["cites that are a text", answer({ ...says("a", true), cites: "E1" }), ["a"]],
    ["cites of other things", answer(says("a", true, ["E1"])), ["a"]],
    ["a quote that is no text", answer(says("a", true, [{ evidence: "E1", quote: 3 }])), ["a"]],
    ["words around it", `Here it is: ${answer(says("a", true))}`, ["a"]],
    ["words behind it", `${answer(says("a", true))} I am sure.`, ["a"]],
    ["two objects", `${answer(says("a", true))}${answer(says("a", false))}`, ["a"]],
    [
      "held twice in one object",
      '{"verdicts":[{"id":"a","held":false,"held":true,"reason":"r"}]}',
      ["a"],
    ],
    ["verdicts twice", '{"verdicts":[],"verdicts":[{"id":"a","held":true,"reason":"r"}]}', ["a"]],
    ["cut off", answer(says("a", true)).slice(0, -3), ["a"]],
    ["a single quoted one", "{'verdicts':[{'id':'a','held':true,'reason':'r'}]}", ["a"]],
    ["Python's True", '{"verdicts":[{"id":"a","held":True,"reason":"r"}]}', ["a"]],
    ["nothing", "", ["a"]],
    ["null", "null", ["a"]],
    ["half a character", '{"verdicts":[{"id":"a","held":true,"reason":"\\ud800"}]}', ["a"]],
  ])("%s", (_name, text, asked) => {
    expect(parseAnswer(text, asked)).toEqual({ ok: false, detail: expect.stringMatching(/\S/) });
  });
});

test("a claim named as a part of every object is a claim like any other", () => {
  for (const id of ["__proto__", "constructor", "toString"]) {
    expect(parseAnswer(answer(), [id]).ok).toBe(false);
    const parsed = parseAnswer(
      `{"verdicts":[{"id":${JSON.stringify(id)},"held":null,"reason":"r"}]}`,
      [id],
    );
    expect(parsed.ok && parsed.answers.get(id)?.held).toBe(null);
  }
});

test("a long reason is cut, and says so", () => {
  const parsed = parseAnswer(answer(says("a", true, [], "x".repeat(20_000))), ["a"]);
  expect(parsed.ok && parsed.answers.get("a")?.reason).toMatch(/^x{10000}…$/);
});

test("what is wrong is told in a line that is not the answer over again", () => {
  const parsed = parseAnswer(answer(says("a", "false", [], "secret words")), ["a"]);
  expect(parsed).toEqual({
    ok: false,
    detail: "verdicts.0.held: Invalid input: expected boolean, received string",
  });
});
