import type { SurfaceEntry } from "../../core/entry.ts";
import { keyOfRow, rowEntry, rowState, type RowValues, type TableShape } from "./row-entry.ts";

/** The rows of a table that differ, as they were and as they are: matched by key, or by all values where there is none. */
export function matchRows(
  shape: TableShape,
  before: readonly RowValues[],
  now: readonly RowValues[],
): readonly SurfaceEntry[] {
  return shape.key.length === 0 ? matchAlike(shape, before, now) : matchByKey(shape, before, now);
}

function matchByKey(
  shape: TableShape,
  before: readonly RowValues[],
  now: readonly RowValues[],
): readonly SurfaceEntry[] {
  const old = new Map(before.map((values) => [keyOfRow(shape, values), values]));
  const entries: SurfaceEntry[] = [];
  for (const values of now) {
    const key = keyOfRow(shape, values);
    const was = old.get(key);
    old.delete(key);
    const state = rowState(shape, values);
    if (was === undefined) {
      entries.push(rowEntry(shape, values, { change: "created", now: state }));
      continue;
    }
    const change = isSame(was, values) ? "touched" : "modified";
    entries.push(rowEntry(shape, values, { change, before: rowState(shape, was), now: state }));
  }
  for (const values of old.values())
    entries.push(rowEntry(shape, values, { change: "deleted", before: rowState(shape, values) }));
  return entries;
}

function isSame(left: RowValues, right: RowValues): boolean {
  return left.every((value, index) => value === right[index]);
}

/** Rows without a key: as many copies of each as there are more or less than before. */
function matchAlike(
  shape: TableShape,
  before: readonly RowValues[],
  now: readonly RowValues[],
): readonly SurfaceEntry[] {
  const balance = new Map<string, { values: RowValues; count: number }>();
  const add = (values: RowValues, by: number): void => {
    const key = keyOfRow(shape, values);
    const found = balance.get(key);
    if (found === undefined) balance.set(key, { values, count: by });
    else found.count += by;
  };
  for (const values of before) add(values, -1);
  for (const values of now) add(values, 1);
  return [...balance.values()].flatMap(({ values, count }) =>
    Array.from({ length: Math.abs(count) }, (_, index) =>
      count > 0
        ? rowEntry(shape, values, { change: "created", now: rowState(shape, values) }, index + 1)
        : rowEntry(
            shape,
            values,
            { change: "deleted", before: rowState(shape, values) },
            index + 1,
          ),
    ),
  );
}
