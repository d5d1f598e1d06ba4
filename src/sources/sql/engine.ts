import type { Baseline } from "../../core/source.ts";
import type { WorldLook, WorldQuestion } from "../../core/world.ts";
import type { LookLimits, SqlDelta } from "./delta.ts";

/** The world before a run, as one kind of database holds on to it. */
export type SqlBaseline = Baseline;

/** One kind of database. */
export interface SqlEngine extends AsyncDisposable {
  readonly name: string;
  baseline(
    attribution: "auto" | "exact" | "baseline" | "none",
    signal: AbortSignal | undefined,
  ): Promise<SqlBaseline>;
  /** A world before in which there was nothing: each row that is there now differs from it. */
  nothing(): SqlBaseline;
  save(baseline: SqlBaseline, folder: string): Promise<void>;
  open(folder: string): Promise<SqlBaseline>;
  observe(
    baseline: SqlBaseline | undefined,
    limits: LookLimits,
    signal: AbortSignal | undefined,
  ): Promise<SqlDelta>;
  /** What is there at the moment of the last look, where the engine was told to keep it. */
  world(question: WorldQuestion, signal: AbortSignal | undefined): Promise<WorldLook>;
}
