/** A call that a span tells of, by the key of the span. */
export interface SpannedCall {
  readonly key: string;
  readonly id: string | undefined;
  /** The nearest span around it that is a call of the same tool. */
  readonly outer: string | undefined;
}

/**
 * The id of each call. Two instrumentations trace one call as a span within a span of the same tool: those share an id, unless
 * each has another of its own. A call without an id, of which there is one span, gets none.
 */
export function sharedIds(calls: readonly SpannedCall[]): ReadonlyMap<string, string> {
  const groups = new Groups(calls);
  for (const { key, outer } of calls) if (outer !== undefined) groups.join(key, outer);
  const ids = new Map<string, string>();
  for (const { key } of calls) {
    const id = groups.idOf(key);
    if (id !== undefined) ids.set(key, id);
  }
  return ids;
}

/** Sets of spans that are of one call. Iterative, so that no chain of parents is too long and no circle a trap. */
class Groups {
  readonly #parents = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  constructor(calls: readonly SpannedCall[]) {
    for (const { key, id } of calls) {
      this.#parents.set(key, key);
      if (id !== undefined) this.#ids.set(key, id);
    }
  }

  join(inner: string, outer: string): void {
    const [one, other] = [this.#rootOf(inner), this.#rootOf(outer)];
    const [id, otherId] = [this.#ids.get(one), this.#ids.get(other)];
    if (one === other || (id !== undefined && otherId !== undefined && id !== otherId)) return;
    this.#parents.set(one, other);
    this.#ids.set(other, otherId ?? id ?? `span:${other}`);
  }

  idOf(key: string): string | undefined {
    return this.#ids.get(this.#rootOf(key));
  }

  #rootOf(key: string): string {
    let at = key;
    for (
      let up = this.#parents.get(at);
      up !== undefined && up !== at;
      up = this.#parents.get(at)
    ) {
      // Halves the way for whoever comes next.
      this.#parents.set(at, this.#parents.get(up) ?? up);
      at = up;
    }
    return at;
  }
}
