/** Beyond this many differing lines the distance is not worked out. */
const MAX_DISTANCE = 2_000;

export interface LineDiff {
  readonly added: number;
  readonly removed: number;
}

/** How many lines were added and removed between two texts, or undefined where they differ too much to count. */
export function lineDiff(before: string, after: string): LineDiff | undefined {
  const [old, now] = withoutCommonEnds(linesOf(before), linesOf(after));
  const distance = distanceOf(old, now);
  if (distance === undefined) return undefined;
  const removed = (distance + old.length - now.length) / 2;
  return { added: distance - removed, removed };
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function withoutCommonEnds(
  old: readonly string[],
  now: readonly string[],
): readonly [readonly string[], readonly string[]] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  return [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
}

/** Myers' greedy search: the least number of lines to remove and add. */
function distanceOf(old: readonly string[], now: readonly string[]): number | undefined {
  if (old.length === 0 || now.length === 0) return old.length + now.length;
  const limit = Math.min(MAX_DISTANCE, old.length + now.length);
  const furthest = new Int32Array(2 * limit + 3);
  const middle = limit + 1;
  for (let distance = 0; distance <= limit; distance += 1) {
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const at = middle + diagonal;
      const x = follow(old, now, diagonal, startOf(furthest, at, diagonal, distance));
      furthest[at] = x;
      if (x >= old.length && x - diagonal >= now.length) return distance;
    }
  }
  return undefined;
}

function startOf(furthest: Int32Array, at: number, diagonal: number, distance: number): number {
  const below = furthest[at + 1] ?? 0;
  const left = furthest[at - 1] ?? 0;
  const goesDown = diagonal === -distance || (diagonal !== distance && left < below);
  return goesDown ? below : left + 1;
}

function follow(
  old: readonly string[],
  now: readonly string[],
  diagonal: number,
  from: number,
): number {
  let x = from;
  while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1;
  return x;
}
