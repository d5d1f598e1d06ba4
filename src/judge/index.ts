export { agreementsOf } from "./agreement.ts";
export type { Agreement, Interval } from "./agreement.ts";
export { answeredVerdict } from "./answered-verdict.ts";
export type { Answered } from "./answered-verdict.ts";
export { ClaimAnswer, JudgeAnswer, parseAnswer } from "./answer.ts";
export type { ParsedAnswer } from "./answer.ts";
export type { AskingMeans, Price } from "./ask.ts";
export { atMost, budgetOf } from "./budget.ts";
export type { BudgetLimit } from "./budget.ts";
export { claimDigest, claimsToJudge } from "./claim.ts";
export type { JudgedClaim } from "./claim.ts";
export { commandJudge } from "./command.ts";
export type { CommandJudgeOptions } from "./command.ts";
export type { JudgedEvidence } from "./evidence.ts";
export type { AskOptions, Judge, JudgePrompt, Reply, ShownEvidence, Usage } from "./judge.ts";
export { judgeBundle } from "./judge-bundle.ts";
export type { ClaimJudgment, JudgingBudget, JudgingOptions } from "./judge-bundle.ts";
export {
  Asking,
  Citation,
  JudgeFailureCode,
  JudgeIdentity,
  JudgeKind,
  Judgment,
  JudgmentOutcome,
  judgeDigest,
} from "./judgment.ts";
export { appendJudgments, judgmentFileOf, readJudgments } from "./judgment-file.ts";
export type { StoredJudgments } from "./judgment-file.ts";
export { JUDGE_LIMITS } from "./limits.ts";
export type { JudgeLimits } from "./limits.ts";
export { modelJudge } from "./model.ts";
export type { ModelApi, ModelJudgeOptions } from "./model.ts";
export { judgeByPanel, panelIdentity, panelVerdict } from "./panel.ts";
export { personIdentity, personJudgment } from "./person.ts";
export type { PersonDecision } from "./person.ts";
export { PROMPT_VERSION } from "./prompt.ts";
export { replayJudge } from "./replay.ts";
export { fateOf, judgingCost, judgingCounts } from "./summary.ts";
export type { JudgingCost, JudgingCounts } from "./summary.ts";
