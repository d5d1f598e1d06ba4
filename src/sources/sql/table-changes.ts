import type { EntryState, SurfaceEntry } from "../../core/entry.ts";

interface DefinedTable {
  readonly uri: string;
  readonly definition: string;
}

interface Tables {
  /** By what stays the same when a table is renamed. */
  readonly tables: ReadonlyMap<string, DefinedTable>;
}

/** The tables that were created, dropped, renamed or altered. */
export function tableChanges(before: Tables, now: Tables): readonly SurfaceEntry[] {
  const entries = new Map<string, SurfaceEntry>();
  for (const [id, table] of now.tables) {
    const was = before.tables.get(id);
    if (was === undefined)
      entries.set(table.uri, { uri: table.uri, change: "created", now: stateOf(table) });
    else if (was.uri !== table.uri)
      entries.set(table.uri, {
        uri: table.uri,
        change: "moved",
        from: was.uri,
        before: stateOf(was),
        now: stateOf(table),
      });
    else if (was.definition !== table.definition)
      entries.set(table.uri, {
        uri: table.uri,
        change: "modified",
        before: stateOf(was),
        now: stateOf(table),
      });
  }
  for (const [id, was] of before.tables) {
    if (now.tables.has(id)) continue;
    const again = entries.get(was.uri);
    // Dropped and made again under its name.
    if (again?.now !== undefined)
      entries.set(was.uri, {
        uri: was.uri,
        change: "modified",
        before: stateOf(was),
        now: again.now,
      });
    else entries.set(was.uri, { uri: was.uri, change: "deleted", before: stateOf(was) });
  }
  return [...entries.values()];
}

function stateOf({ definition }: DefinedTable): EntryState {
  return { type: "table", sizeBytes: 0, definition };
}
