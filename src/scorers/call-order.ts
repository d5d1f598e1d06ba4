/** Whether a call is one that a requirement asks for. */
export type Match = "yes" | "no" | "maybe";

/**
 * The calls of one recorder against the requirements: groups in order, in each the calls whose order among each other is not
 * known, and of each call one match a requirement.
 */
export type CallTable = readonly (readonly (readonly Match[])[])[];

/** How many calls in a row a requirement takes. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

const isCertain = (match: Match | undefined): boolean => match === "yes";
const isPossible = (match: Match | undefined): boolean => match === "yes" || match === "maybe";

/**
 * Whether the required calls surely stand in this order, others between them: `least` of the first, then `least` of the next.
 * In a group of unknown order at most the calls of one requirement count, since those stand in any order.
 */
export function certainlyInOrder(spans: readonly Span[], table: CallTable): boolean {
  const walk = new Walk(spans);
  for (const group of table) {
    const at = walk.requirement;
    for (const call of group) if (walk.requirement === at && isCertain(call[at])) walk.take();
  }
  return walk.isDone;
}

/** Whether the required calls can stand in this order, if everything that is not known turns out well. */
export function possiblyInOrder(spans: readonly Span[], table: CallTable): boolean {
  const walk = new Walk(spans);
  for (const group of table)
    for (let taken = 0; taken < group.length && !walk.isDone; taken += 1) {
      // Generous in a group: one call may stand for several. Such a table is then left undetermined, never refuted.
      if (!group.some((call) => isPossible(call[walk.requirement]))) break;
      walk.take();
    }
  return walk.isDone;
}

/** The next requirement that still lacks calls. Taking the earliest call that fits is never worse than a later one. */
class Walk {
  readonly #spans: readonly Span[];
  requirement = 0;
  #taken = 0;

  constructor(spans: readonly Span[]) {
    this.#spans = spans;
    this.#skip();
  }

  get isDone(): boolean {
    return this.requirement >= this.#spans.length;
  }

  take(): void {
    this.#taken += 1;
    this.#skip();
  }

  #skip(): void {
    while (!this.isDone && this.#taken >= (this.#spans[this.requirement]?.least ?? 0)) {
      this.requirement += 1;
      this.#taken = 0;
    }
  }
}

/** Whether the calls surely are these and no other, in this order. */
export function certainlyExact(spans: readonly Span[], table: CallTable): boolean {
  if (spans.length > 1 && table.some((group) => group.length > 1)) return false;
  return isTiledBy(spans, table.flat(), { fits: isCertain, mayLack: false });
}

/** Whether the calls can be these and no other, in this order. With `mayLack`, further calls may exist anywhere. */
export function possiblyExact(spans: readonly Span[], table: CallTable, mayLack: boolean): boolean {
  const calls = table.flat();
  if (table.some((group) => group.length > 1)) return mayBeTiledBy(spans, calls, mayLack);
  return isTiledBy(spans, calls, { fits: isPossible, mayLack });
}

/** Where the order is not known: every call has a place, and there are not too few or too many. */
function mayBeTiledBy(
  spans: readonly Span[],
  calls: readonly (readonly Match[])[],
  mayLack: boolean,
): boolean {
  const least = spans.reduce((sum, span) => sum + span.least, 0);
  const most = spans.reduce((sum, span) => sum + span.most, 0);
  return (
    calls.every((call) => call.some(isPossible)) &&
    calls.length <= most &&
    spans.every((span, index) => boundTo(index, calls) <= span.most) &&
    (mayLack || calls.length >= least)
  );
}

/** How many calls can stand for this requirement alone. */
function boundTo(requirement: number, calls: readonly (readonly Match[])[]): number {
  const isBound = (call: readonly Match[]): boolean =>
    call.every((match, index) => isPossible(match) === (index === requirement));
  return calls.filter(isBound).length;
}

interface Tiling {
  readonly fits: (match: Match | undefined) => boolean;
  readonly mayLack: boolean;
}

/** Whether the calls fall into runs, one a requirement, each of an allowed length. */
function isTiledBy(
  spans: readonly Span[],
  calls: readonly (readonly Match[])[],
  { fits, mayLack }: Tiling,
): boolean {
  let open = new Uint8Array(calls.length + 1);
  open[0] = 1;
  for (const [requirement, span] of spans.entries()) {
    const fitting = calls.map((call) => fits(call[requirement]));
    open = endsOfRun(open, fitting, mayLack ? { ...span, least: 0 } : span);
  }
  return open[calls.length] === 1;
}

/**
 * Where the next run can end, given where the runs so far can: `open[at]` says that they can end before call `at`. It can end
 * before `to` where one of the `least` to `most` places before is open and all calls from there on fit.
 */
function endsOfRun(
  open: Uint8Array,
  fitting: readonly boolean[],
  { least, most }: Span,
): Uint8Array<ArrayBuffer> {
  const openBefore = sumsOf(open);
  const ends = new Uint8Array(open.length);
  let inARow = 0;
  for (let to = 0; to < open.length; to += 1) {
    inARow = to > 0 && fitting[to - 1] === true ? inARow + 1 : 0;
    const from = to - Math.min(most, inARow);
    const until = to - least;
    if (until >= from && (openBefore[until + 1] ?? 0) > (openBefore[from] ?? 0)) ends[to] = 1;
  }
  return ends;
}

/** How many places before each are open. */
function sumsOf(open: Uint8Array): Uint32Array {
  const sums = new Uint32Array(open.length + 1);
  for (let at = 0; at < open.length; at += 1) sums[at + 1] = (sums[at] ?? 0) + (open[at] ?? 0);
  return sums;
}
