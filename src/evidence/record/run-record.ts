import { z } from "zod";
import type { ScenarioAttempt } from "../scenario-attempt.ts";
import type { ExpectationFile } from "../../core/expectation.ts";
import { ObservationId } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";
import { Run } from "../../core/run.ts";
import { Score } from "../../core/score.ts";
import type { World } from "../world/world.ts";
import type { Grading } from "./grading.ts";

/** A run whose agent was started by someone else has no `agent`. */
export const RecordedRun = Run.unwrap().partial({ agent: true }).readonly();
export type RecordedRun = z.infer<typeof RecordedRun>;

/** A root that was observed, by its name and the kind of surface. Never where on the host it lay. */
export const RecordedRoot = z
  .object({ name: z.string().min(1), surface: z.string().min(1) })
  .readonly();
export type RecordedRoot = z.infer<typeof RecordedRoot>;

/** The score of a sub-goal, by its name. */
export const RecordedScore = z.object({ subGoal: z.string().min(1), score: Score }).readonly();
export type RecordedScore = z.infer<typeof RecordedScore>;

/** What `run.json` of a bundle holds. */
export const RunPart = z
  .object({
    schemaVersion: z.literal(1),
    run: RecordedRun,
    roots: z.array(RecordedRoot).readonly(),
    /** Which observations are the delta of a whole root. */
    deltas: z.array(ObservationId).readonly(),
  })
  .readonly();
export type RunPart = z.infer<typeof RunPart>;

/** Which scenario of which job a run is an attempt at; the attempt's own id is the run's. */
export type RecordedScenario = Omit<ScenarioAttempt, "attemptId">;

/** Everything that is kept of a run: what was seen, asked and decided. */
export interface RunRecord {
  readonly run: RecordedRun;
  readonly scenario?: RecordedScenario | undefined;
  readonly roots: readonly RecordedRoot[];
  /** The delta of each root, as far as there is one. */
  readonly deltas: readonly Observation[];
  /** All other observations: of the sub-goals, and of the conversation. */
  readonly observations: readonly Observation[];
  readonly claims?: ExpectationFile | undefined;
  readonly scores: readonly RecordedScore[];
  /** Of a scenario of a suite. */
  readonly grading?: Grading | undefined;
  /** What was there at the end, of each root that can show it. Absent where it was not captured. */
  readonly worlds?: readonly World[] | undefined;
}
