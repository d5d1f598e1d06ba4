import { z } from "zod";

interface GapMeaning {
  readonly meaning: string;
  readonly remedy: string;
}

/**
 * Every reason for which something stays not known: what it means, and what would settle it.
 * The table is closed; `docs/gaps.md` is written from it.
 */
export const GAPS = {
  root_unavailable: {
    meaning: "The root is missing or is no directory.",
    remedy: "Name a directory that exists and can be opened.",
  },
  root_replaced: {
    meaning: "Another directory stood at the root's path after the walk.",
    remedy: "Keep the root in place during the observation and observe again.",
  },
  listing_failed: {
    meaning: "A directory could not be listed.",
    remedy: "Run as a user that can list it.",
  },
  listing_limit_exceeded: {
    meaning: "More entries were met than may be listed.",
    remedy: "Raise maxListedEntries.",
  },
  file_limit_exceeded: {
    meaning: "More candidates were found than may be kept.",
    remedy: "Raise maxFiles.",
  },
  read_limit_exceeded: {
    meaning: "A file was not read to its end.",
    remedy: "Raise maxReadBytes.",
  },
  read_failed: {
    meaning: "A file could not be opened or read.",
    remedy: "Run as a user that can read it.",
  },
  link_not_followed: {
    meaning: "A link to a directory could lead to matching locations and was not followed.",
    remedy: "Name the directory that the link leads to.",
  },
  link_outside_root: {
    meaning: "A link leads out of the root. Not a byte behind it was read.",
    remedy: "Add a root that holds its target.",
  },
  dangling_link: {
    meaning: "A link leads to nothing that is there.",
    remedy: "Observe again once the target exists, or remove the link.",
  },
  confinement_unverified: {
    meaning: "That an opened file lies inside the root could not be proven.",
    remedy:
      "Observe on a system where handles can be traced to the root (on Linux: mount /proc); a file with several names is read without --strict.",
  },
  other_filesystem: {
    meaning: "Another file system is mounted below the root; it was not entered.",
    remedy: "Add the mounted directory as a root of its own.",
  },
  not_a_file: {
    meaning: "The exact location names no regular file.",
    remedy: "Ask with a pattern that ends in /**.",
  },
  changed_during_read: {
    meaning: "A file or table changed while it was read.",
    remedy: "Observe again when nothing writes to it.",
  },
  changed_during_walk: {
    meaning: "A directory changed while it was walked.",
    remedy: "Observe again when nothing writes below the root.",
  },
  not_text: {
    meaning: "Content that is not text in a known encoding cannot rule a match out.",
    remedy: "Ask by digest, or look at the file.",
  },
  text_not_retained: {
    meaning:
      "The content was not kept in full, and the part that was does not settle the question.",
    remedy: "Raise maxContentBytes and maxRetainedBytes, or ask the question during the run.",
  },
  content_redacted: {
    meaning: "A secret was removed from the content; what it was cannot be asked.",
    remedy: "Ask before sealing.",
  },
  prior_content_unknown: {
    meaning: "What the file held before the run was not kept.",
    remedy: "Raise baseline.maxPriorBytes and baseline.maxPriorFileBytes.",
  },
  baseline_missing: {
    meaning: "Nothing was recorded before the run, so what the run changed is not known.",
    remedy: "Take a baseline before the run: upheld run, or upheld baseline.",
  },
  baseline_partial: {
    meaning: "The baseline does not cover this location.",
    remedy: "Take the baseline as a user that can read it, with limits that hold it.",
  },
  baseline_released: {
    meaning: "The baseline could not be held until the end of the run.",
    remedy: "Raise the time for which it may be held.",
  },
  clock_uncertain: {
    meaning: "The times of a file disagree with each other or with the clock.",
    remedy: "Take a baseline before the run: it needs no clock.",
  },
  scope_not_applied: {
    meaning: "The source could not apply this part of the scope.",
    remedy: "Take a baseline before the run, or leave the key out.",
  },
  deadline_passed: { meaning: "The time for this work was over.", remedy: "Raise the deadline." },
  database_unavailable: {
    meaning: "The database could not be read.",
    remedy: "Start it, or correct its address.",
  },
  table_rewritten: {
    meaning: "The table was rewritten or truncated during the run.",
    remedy: "Take the baseline with stored row digests.",
  },
  row_limit_exceeded: {
    meaning: "More rows were met than may be read.",
    remedy: "Raise the row limit.",
  },
  rows_hidden: {
    meaning: "Rows are hidden from this user.",
    remedy: "Observe as a role that sees every row.",
  },
  transaction_open: {
    meaning: "A transaction was still open at the observation.",
    remedy: "Observe once it has ended.",
  },
  no_stable_key: {
    meaning: "The rows have no key by which they could be told apart.",
    remedy: "Give the table a primary key.",
  },
  trace_incomplete: {
    meaning: "The trace may lack calls.",
    remedy: "Record calls with the proxy or a calls file, or declare the trace complete.",
  },
  span_unfinished: {
    meaning: "A call had not ended.",
    remedy: "Wait for the agent's calls to end.",
  },
  call_truncated: {
    meaning: "A recorded call was cut.",
    remedy: "Raise the limit of the recorder.",
  },
  calls_contradictory: {
    meaning: "Two records of one call, or of the calls of one run, contradict each other.",
    remedy: "Leave out the recorder that is wrong.",
  },
  evidence_kind_missing: {
    meaning: "Evidence of the needed kind is not there.",
    remedy: "Record it during the run.",
  },
  not_judged: { meaning: "No judge has decided this.", remedy: "Run upheld judge." },
  judge_undecided: {
    meaning: "A judge looked at the evidence and could not tell.",
    remedy: "Record what it lacked, or ask another judge.",
  },
  judges_disagree: {
    meaning: "No verdict has more than half of the panel behind it.",
    remedy: "Let a person decide, or ask more judges.",
  },
  citation_missing: {
    meaning: "The judge cited nothing that can be found.",
    remedy: "Judge again.",
  },
  absence_unproven: {
    meaning: "Absence cannot be concluded from evidence that is not complete.",
    remedy: "Record the whole part.",
  },
  part_withheld: {
    meaning: "A part of the bundle was withheld.",
    remedy: "Ask its owner for the full bundle.",
  },
  nothing_to_decide: {
    meaning: "There was nothing to decide.",
    remedy: "State at least one condition.",
  },
  check_broken: {
    meaning: "The check itself failed. This says nothing of the agent.",
    remedy: "Mend the check.",
  },
  check_runtime_missing: {
    meaning: "The program that runs this check is not there.",
    remedy: "Install it.",
  },
} as const satisfies Readonly<Record<string, GapMeaning>>;

export type GapCode = keyof typeof GAPS;

export const GapCode = z.enum(Object.keys(GAPS) as [GapCode, ...GapCode[]]);

/**
 * One located reason for which something is not known. `location` is a uri, or a name where no uri exists;
 * `detail` gives the system's error and figures, never content; `count` says how many places this stands for.
 */
export const Gap = z
  .object({
    code: GapCode,
    location: z.string().min(1),
    detail: z.string().optional(),
    count: z.int().min(1).default(1),
    remedy: z.string().min(1),
  })
  .readonly();
export type Gap = z.infer<typeof Gap>;

/** Builds a gap; the table's remedy stands unless a sharper one is known. */
export function gap(
  code: GapCode,
  location: string,
  more: { readonly detail?: string; readonly count?: number; readonly remedy?: string } = {},
): Gap {
  return {
    code,
    location,
    ...(more.detail === undefined ? {} : { detail: more.detail }),
    count: more.count ?? 1,
    remedy: more.remedy ?? GAPS[code].remedy,
  };
}

export type NonEmpty<T> = readonly [T, ...T[]];

/** The list as one that is known to hold something, or undefined. */
export function nonEmpty<T>(items: readonly T[]): NonEmpty<T> | undefined {
  const [first, ...rest] = items;
  return first === undefined ? undefined : [first, ...rest];
}

/** How many gaps of one code are located one by one before the rest is folded into one that counts them. */
export const MAX_LOCATED_GAPS = 100;

/** Merges equal gaps and folds those of a code beyond `MAX_LOCATED_GAPS` into one that says how many it stands for. */
export function foldGaps(gaps: Iterable<Gap>, limit: number = MAX_LOCATED_GAPS): readonly Gap[] {
  const byCode = new Map<GapCode, Map<string, Gap>>();
  const folded = new Map<GapCode, Gap>();
  for (const each of gaps) {
    const located = byCode.get(each.code) ?? new Map<string, Gap>();
    byCode.set(each.code, located);
    const key = `${each.location}\n${each.detail ?? ""}`;
    if (located.has(key)) continue;
    if (located.size < limit) {
      located.set(key, each);
      continue;
    }
    const rest = folded.get(each.code);
    folded.set(
      each.code,
      rest === undefined
        ? { ...each, detail: "and further places" }
        : { ...rest, count: rest.count + each.count },
    );
  }
  return [...byCode].flatMap(([code, located]) => {
    const rest = folded.get(code);
    return rest === undefined ? [...located.values()] : [...located.values(), rest];
  });
}
