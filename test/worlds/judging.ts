import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { digestOf } from "../../src/core/fingerprint.ts";
import type { Observation } from "../../src/core/observation.ts";
import { Timestamp } from "../../src/core/timestamp.ts";
import type { EvidencePart } from "../../src/evidence/statement.ts";
import type { JudgedClaim } from "../../src/judge/claim.ts";
import type { JudgedEvidence } from "../../src/judge/evidence.ts";
import type { Judge, Reply } from "../../src/judge/judge.ts";
import { judgeBundle, type JudgingOptions } from "../../src/judge/judge-bundle.ts";
import type { Judgment } from "../../src/judge/judgment.ts";
import { JUDGE_LIMITS } from "../../src/judge/limits.ts";
import { NOW } from "./observations.ts";

/** A bundle to judge over, by hand. */
export function evidenceOf(
  observations: readonly Observation[],
  more: { readonly parts?: readonly EvidencePart[]; readonly name?: string } = {},
): JudgedEvidence {
  return {
    bundle: digestOf(new TextEncoder().encode(more.name ?? "a bundle")),
    parts: more.parts ?? [],
    roots: [
      { name: "workspace", surface: "file" },
      { name: "shop", surface: "sql" },
    ],
    observations,
  };
}

export function claim(name: string, more: Partial<JudgedClaim> = {}): JudgedClaim {
  return { name, text: `${name} is so.`, needs: [], polarity: "existential", ...more };
}

/** Everything that judging takes from outside, and what it recorded. */
export function judgingMeans(
  more: Partial<JudgingOptions> = {},
): JudgingOptions & { readonly recorded: Judgment[] } {
  const recorded: Judgment[] = [];
  return {
    signal: new AbortController().signal,
    limits: JUDGE_LIMITS,
    newId: randomUUID,
    newNonce: () => randomBytes(16).toString("hex"),
    milliseconds: () => performance.now(),
    wait: async (milliseconds, signal) => {
      await sleep(Math.min(milliseconds, 5), undefined, { signal });
    },
    now: () => Timestamp.parse(NOW),
    record: async (judgments) => {
      recorded.push(...judgments);
      return Promise.resolve();
    },
    recorded,
    ...more,
  };
}

/** A judge that gives these answers (or what they make of the question), call by call, the last one again; and what it was asked. */
export function scriptedJudge(
  answers: readonly unknown[],
  name = "scripted",
): Judge & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    identity: { kind: "command", name, promptVersion: "1", parameters: {}, members: [] },
    asked,
    ask: async (prompt, { signal }) => {
      signal.throwIfAborted();
      asked.push(prompt.user);
      const given = answers[Math.min(asked.length, answers.length) - 1];
      const answer: unknown = typeof given === "function" ? given(prompt.user) : given;
      return Promise.resolve(replyOf(answer));
    },
  };
}

function replyOf(answer: unknown): Reply {
  if (typeof answer === "object" && answer !== null && "kind" in answer) return answer as Reply;
  return { kind: "answer", text: typeof answer === "string" ? answer : JSON.stringify(answer) };
}

/** One verdict, in the form in which a judge answers. */
export function says(
  id: string,
  held: unknown,
  cites: readonly unknown[] = [],
  reason: unknown = "so it is",
): {
  readonly id: string;
  readonly held: unknown;
  readonly reason: unknown;
  readonly cites: unknown;
} {
  return { id, held, reason, cites };
}

/** What one judge comes to about one claim. */
export async function judgeOne(
  evidence: JudgedEvidence,
  asked: JudgedClaim,
  judge: Judge,
  more: Partial<JudgingOptions> = {},
): Promise<Judgment> {
  const [judged] = await judgeBundle(evidence, [asked], judge, judgingMeans(more));
  if (judged?.judgment === undefined) throw new Error("nothing was judged");
  return judged.judgment;
}
