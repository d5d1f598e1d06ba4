import { z } from "zod";
import { isUpheldError } from "../core/errors.ts";
import { issuesOf } from "../core/issues.ts";
import { parseStrictJson } from "../core/strict-json.ts";
import { MAX_REASON } from "./limits.ts";

/** What a judge says of one claim. A field that is not known here is left out, and bears on nothing. */
export const ClaimAnswer = z
  .object({
    id: z.string(),
    held: z.boolean().nullable(),
    reason: z.string().refine((text) => text.trim() !== "", "a reason is missing"),
    cites: z
      .array(z.object({ evidence: z.string(), quote: z.string().optional() }).readonly())
      .max(100)
      .readonly()
      .default([]),
  })
  .readonly();
export type ClaimAnswer = z.infer<typeof ClaimAnswer>;

/** The one form in which a judge answers. */
export const JudgeAnswer = z.object({ verdicts: z.array(ClaimAnswer).readonly() }).readonly();

/** The answers by the ids of the claims, or what is wrong with them. */
export type ParsedAnswer =
  | { readonly ok: true; readonly answers: ReadonlyMap<string, ClaimAnswer> }
  | { readonly ok: false; readonly detail: string };

/**
 * Reads an answer: one JSON object, at most within one code fence, with one verdict for exactly each claim that was asked. Nothing
 * is converted: the text "false" is no boolean, and what is missing is not null.
 */
export function parseAnswer(text: string, asked: readonly string[]): ParsedAnswer {
  const value = jsonOf(text);
  if (!value.ok) return value;
  const parsed = JudgeAnswer.safeParse(value.json);
  if (!parsed.success) return wrong(issuesOf(parsed.error, 3).replaceAll("\n", "; "));
  const { verdicts } = parsed.data;
  const answers = new Map(verdicts.map((each) => [each.id, each]));
  if (answers.size < verdicts.length) return wrong("a claim is answered twice");
  const missing = asked.filter((id) => !answers.has(id)).length;
  if (missing > 0) return wrong(`${missing} of ${asked.length} claims are not answered`);
  if (answers.size > asked.length) return wrong("a claim is answered that was not asked");
  return { ok: true, answers: new Map([...answers].map(([id, answer]) => [id, bounded(answer)])) };
}

function jsonOf(
  text: string,
): { readonly ok: true; readonly json: unknown } | Extract<ParsedAnswer, { ok: false }> {
  const trimmed = text.trim();
  const fenced = /^```(?:json)?[ \t]*\n([\s\S]*)\n```$/.exec(trimmed)?.[1];
  try {
    return { ok: true, json: parseStrictJson(fenced ?? trimmed) };
  } catch (error) {
    if (!isUpheldError(error)) throw error;
    return { ok: false, detail: `the answer is not one JSON object: ${error.message}` };
  }
}

function wrong(detail: string): ParsedAnswer {
  return { ok: false, detail: detail.slice(0, 500) };
}

function bounded(answer: ClaimAnswer): ClaimAnswer {
  return answer.reason.length <= MAX_REASON
    ? answer
    : { ...answer, reason: `${answer.reason.slice(0, MAX_REASON)}…` };
}
