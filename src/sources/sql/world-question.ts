/** Characters of one value that are read of the world; beyond it its size is told. */
export const MAX_WORLD_CELL = 8_192;

/** Tables in the order in which they are read: those that were asked for first, then the others by name. */
export function orderedTables<T extends { readonly uri: string }>(
  tables: readonly T[],
  first: readonly string[],
): readonly T[] {
  const rank = new Map(first.map((uri, index) => [uri, index]));
  const rankOf = (uri: string): number => rank.get(uri) ?? first.length;
  return tables.toSorted(
    (left, right) => rankOf(left.uri) - rankOf(right.uri) || (left.uri < right.uri ? -1 : 1),
  );
}
