// The names of the package, a line a file, in the order of the layers. Everything else is internal.
export {
  AttemptId,
  ConversationId,
  Digest,
  MessageId,
  ObservationId,
  RunId,
  ScoreId,
} from "./core/ids.ts";
export { Timestamp, timestampOf, nanosecondsOf } from "./core/timestamp.ts";
export {
  ERROR_CODES,
  UpheldError,
  NonReplayableObservationError,
  isUpheldError,
  type ErrorCode,
} from "./core/errors.ts";
export { GAPS, Gap, GapCode, gap, type NonEmpty } from "./core/gap.ts";
export { LIMITS, type Limit, type LimitName, type Limits } from "./core/limits.ts";
export { parseLocator, type Locator } from "./core/locator.ts";
export { parseGlob, type Glob } from "./core/glob.ts";
export { ScoringScope } from "./core/scope.ts";
export {
  ContentScorable,
  ConversationScorable,
  MessageScorable,
  Scorable,
  SurfaceScorable,
  ToolCallsScorable,
  TraceScorable,
} from "./core/scorable.ts";
export { Matcher, type MatcherInput } from "./core/matcher.ts";
export {
  Condition,
  conditionKinds,
  type Polarity,
  type LeafCondition,
  type Composite,
} from "./core/condition.ts";
export {
  Expectation,
  ExpectationFile,
  SubGoal,
  expectationFingerprint,
  parseExpectationFile,
} from "./core/expectation.ts";
export {
  CallOutcome,
  CallValue,
  Provenance,
  Recorder,
  Sighting,
  ToolCall,
} from "./core/tool-call.ts";
export { Change } from "./core/change.ts";
export { EntryState, SurfaceEntry } from "./core/entry.ts";
export {
  Acquisition,
  Attribution,
  AttributionMethod,
  Coverage,
  Observation,
  parseObservation,
} from "./core/observation.ts";
export {
  EntryRef,
  Verdict,
  all,
  any,
  majority,
  not,
  refuted,
  undetermined,
  upheld,
  type VerdictValue,
} from "./core/verdict.ts";
export { Score } from "./core/score.ts";
export { type Decision, type Need, type Scorer, type ScoringContext } from "./core/scorer.ts";
export {
  type Baseline,
  type BaselineSource,
  type ObservationRequest,
  type ObservationSource,
  type ObserveOptions,
} from "./core/source.ts";
export { Conversation, Message } from "./core/conversation.ts";
export { AgentOutcome, Run } from "./core/run.ts";
export { Identifier } from "./core/identifier.ts";
export { canonicalJson } from "./core/canonical-json.ts";
export { parseStrictJson } from "./core/strict-json.ts";
export { fingerprint } from "./core/fingerprint.ts";
export {
  fileWriteScorer,
  type FileWriteScorer,
  type FileWriteOptions,
} from "./scorers/file-write-scorer.ts";
export { builtInScorers, defineScorers, type Scorers } from "./scorers/registry.ts";
export { NOISE, type NoiseName } from "./core/noise.ts";
export { replay, contextOfObservations } from "./scorers/replay.ts";
export { scoreLive, type ScoreOptions, type ScoreStamp, type Scored } from "./scorers/score.ts";
export {
  type BoundCalls,
  type BoundConversation,
  type BoundSource,
  type LiveEvidence,
} from "./scorers/observe.ts";
export { type ConditionDecision } from "./scorers/decide.ts";
export {
  LocalFileSurfaceSource,
  type LocalBaseline,
  type LocalFileOptions,
  type LocalRoot,
} from "./sources/local-files/source.ts";
export { ToolCallSource, type ToolCallOptions } from "./sources/tool-calls/source.ts";
export { callsFile, type CallsFile } from "./sources/tool-calls/jsonl.ts";
export {
  startOtlpReceiver,
  type OtlpReceiver,
  type ReceiverOptions,
} from "./sources/tool-calls/otlp/receiver.ts";
export { runMcpProxy, type ProxyOptions, type ServerEnd } from "./sources/tool-calls/mcp/proxy.ts";
export {
  type CallLimits,
  type CallRecorder,
  type IdentifiedSighting,
  type Recording,
} from "./sources/tool-calls/recording.ts";
export {
  type Agent,
  type AgentRoot,
  type Prompt,
  type Reply,
  type Turn,
  type TurnOptions,
  type TurnResult,
} from "./run/agent.ts";
export { systemClock, type Clock } from "./run/clock.ts";
export { commandAgent, type CommandAgentOptions } from "./run/agents/command-agent.ts";
export { endpointAgent, type EndpointAgentOptions } from "./run/agents/endpoint-agent.ts";
export {
  functionAgent,
  type AgentFunction,
  type FunctionAgentOptions,
  type FunctionTurn,
} from "./run/agents/function-agent.ts";
export { conversationLog, type ConversationLog } from "./run/conversation-log.ts";
export { scopeOfMessage, type MessageStore } from "./run/scope-of-message.ts";
export {
  sendPrompt,
  type PromptResult,
  type PromptOutcome,
  type SendPromptOptions,
} from "./run/send-prompt.ts";
export {
  recordRun,
  type RecordedAttempt,
  type RecordOptions,
  type RunPlan,
  type RunStep,
  type WatchedRoot,
} from "./run/record.ts";
export { type RunRecord } from "./evidence/record/run-record.ts";
export { writeBundle } from "./store/bundle-file.ts";
export { openBundle } from "./store/open-bundle.ts";
export { sealInputOf } from "./evidence/record/evidence-file.ts";
export { readRunRecord } from "./evidence/record/read-run.ts";
export { newRunSecret } from "./store/run-secret.ts";
export { nodeHasher } from "./store/hasher.ts";
export { runReport, type ReportInput, type RunReport } from "./report/run-report.ts";
export { reportText, type TextInput } from "./report/text.ts";
export { defineConfig, type SuiteConfig } from "./suite/config.ts";
export { ScenarioFile } from "./suite/scenario.ts";
export { type CheckWorld, type GivenCall } from "./suite/given-world.ts";
