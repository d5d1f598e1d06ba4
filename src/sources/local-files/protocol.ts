import type { Limits } from "../../core/limits.ts";
import type { Matcher } from "../../core/matcher.ts";
import type { Touched } from "./meter.ts";
import type { HelpOrder } from "./second-thread.ts";
import type { SharedLook } from "./shared-look.ts";
import type { WriteSet } from "./write-set.ts";

/** What the worker is asked to do. Messages are plain data; patterns travel as their text. */
export type Task =
  | { readonly kind: "baseline"; readonly limits: Limits; readonly readsAgain: boolean }
  | {
      readonly kind: "observe";
      readonly baseline?: number;
      readonly readsAgain: boolean;
      readonly strict: boolean;
      readonly limits: Limits;
      readonly deltaLimits: Limits;
      readonly requests: readonly PlainRequest[];
    }
  | {
      readonly kind: "observe_overlay";
      readonly writeSet: WriteSet;
      readonly strict: boolean;
      readonly limits: Limits;
      readonly deltaLimits: Limits;
      readonly requests: readonly PlainRequest[];
    }
  | { readonly kind: "save"; readonly baseline: number; readonly folder: string }
  | { readonly kind: "load"; readonly folder: string }
  | { readonly kind: "release"; readonly baseline: number };

export interface PlainRequest {
  readonly uri: string;
  readonly match: "exact" | "glob";
  readonly extent: "candidates" | "delta";
  readonly probes: readonly Matcher[];
  readonly window?: { readonly from: bigint; readonly to: bigint };
  readonly labelsOrAttempt: boolean;
}

/** A baseline as the main thread knows it. */
export interface BaselineFacts {
  readonly baseline: number;
  readonly digest: string;
  readonly takenAt: bigint;
  readonly method: "baseline" | "baseline (stat)";
  readonly entries: number;
  readonly touched: Touched;
}

export interface RootUnavailable {
  readonly unavailable: "root_unavailable" | "root_replaced" | "confinement_unverified";
  readonly detail: string;
}

export type Result =
  | { readonly kind: "baseline"; readonly facts: BaselineFacts }
  | {
      readonly kind: "answers";
      readonly look: SharedLook;
      readonly confinement: "handle" | "identity";
      readonly at: bigint;
      readonly touched: Touched;
    }
  | { readonly kind: "unavailable"; readonly why: RootUnavailable; readonly at: bigint }
  | { readonly kind: "done" };

export interface Order {
  readonly id: number;
  readonly task: Task;
  /** One 32-bit number that becomes non-zero when the work is to stop. */
  readonly stop: SharedArrayBuffer;
}

export type Report =
  | { readonly id: number; readonly kind: "progress"; readonly touched: Touched }
  | { readonly id: number; readonly kind: "help"; readonly order: HelpOrder }
  | { readonly id: number; readonly kind: "result"; readonly result: Result }
  | { readonly id: number; readonly kind: "aborted"; readonly touched: Touched }
  | {
      readonly id: number;
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
    };

/** What a worker is started with. */
export interface WorkerRoot {
  readonly name: string;
  readonly directory: string;
}
