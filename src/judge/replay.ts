import type { Judge, Reply } from "./judge.ts";
import type { Judgment } from "./judgment.ts";
import { PROMPT_VERSION } from "./prompt.ts";

/**
 * A judge that answers as another did: from the answers that were recorded with judgments, by the digest of the question. The
 * rules are applied anew. What was never asked, or of which only the head was kept, is a failure.
 */
export function replayJudge(judgments: readonly Judgment[]): Judge {
  const replies = new Map<string, Reply>();
  for (const judgment of judgments) {
    const { asking } = judgment;
    if (asking === undefined || replies.has(asking.question)) continue;
    replies.set(asking.question, replyOf(judgment));
  }
  const names = [...new Set(judgments.filter(isAsked).map(({ judge }) => judge.name))].toSorted();
  return {
    identity: {
      kind: "replay",
      name: names.join(", ") || "nobody",
      promptVersion: PROMPT_VERSION,
      parameters: {},
      members: [],
    },
    ask: async (_prompt, { question, signal }) => {
      signal.throwIfAborted();
      return Promise.resolve(replies.get(question) ?? NOT_RECORDED);
    },
  };
}

const NOT_RECORDED: Reply = {
  kind: "failure",
  code: "not_recorded",
  detail: "no answer to this question was recorded",
  retry: false,
};

function isAsked({ asking }: Judgment): boolean {
  return asking !== undefined;
}

function replyOf({ asking, outcome }: Judgment): Reply {
  if (outcome.kind === "failed")
    return {
      kind: "failure",
      code: outcome.code,
      detail: outcome.detail,
      retry: false,
      text: asking?.raw,
    };
  const isWhole = asking?.raw !== undefined && asking.rawBytes === undefined;
  return isWhole ? { kind: "answer", text: asking.raw } : NOT_RECORDED;
}
