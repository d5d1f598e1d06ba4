import type { SurfaceEntry } from "../../core/entry.ts";
import { Changes, type SharedChanges } from "./changes.ts";
import { wordsColumn, type SharedColumn } from "./column.ts";
import { EntryBuilder, WrittenEntries, type EntryEvidence } from "./entries.ts";
import { Manifest, type SharedManifest } from "./manifest.ts";
import type { Answer, Look } from "./observe.ts";
import { ReadingList, type SharedReadingList } from "./reading-list.ts";
import type { PriorContent } from "./snapshot.ts";
import type { View } from "./view.ts";

/** A look on its way to the main thread, which writes the entries: columns cross for free, a hundred thousand objects do not. */
export interface SharedLook {
  readonly list: SharedReadingList;
  readonly answers: readonly SharedAnswer[];
}

export interface SharedAnswer extends Omit<Answer, "view"> {
  readonly world: SharedWorld;
}

interface SharedWorld {
  readonly name: string;
  readonly realPath: string;
  readonly tree: SharedManifest;
  readonly changes: SharedChanges;
  readonly before?: { readonly tree: SharedManifest; readonly prior: SharedPrior };
}

interface SharedPrior {
  readonly bytes: SharedArrayBuffer;
  readonly starts: SharedColumn;
}

export function shareLook({ list, answers }: Look): SharedLook {
  const trees = memo((tree: Manifest) => tree.share());
  const changes = memo((view: View) => view.changes.share(view.tree.count));
  return {
    list: list.share(),
    answers: answers.map(({ view, ...answer }) => ({
      ...answer,
      world: {
        name: view.name,
        realPath: view.realPath,
        tree: trees(view.tree),
        changes: changes(view),
        ...(view.before === undefined
          ? {}
          : {
              before: {
                tree: trees(view.before.tree),
                prior: sharePrior(view.before.prior, view.before.tree.count),
              },
            }),
      },
    })),
  };
}

function sharePrior({ bytes, starts }: PriorContent, count: number): SharedPrior {
  // Kept in shared memory from the start.
  return { bytes: bytes.buffer as unknown as SharedArrayBuffer, starts: starts.share(count) };
}

/** How many entries are written before anything else may run. */
const BATCH = 2048;

/** Writes the entries of one answer, in the order of their uris. Throws the signal's reason once it is aborted. */
export async function entriesOf(
  evidence: EntryEvidence,
  signal: AbortSignal | undefined,
): Promise<readonly SurfaceEntry[]> {
  const builder = new EntryBuilder(evidence);
  const entries: SurfaceEntry[] = [];
  for (let at = 0; at < builder.count; at += 1) {
    if (at % BATCH === BATCH - 1) {
      await new Promise(setImmediate);
      signal?.throwIfAborted();
    }
    entries.push(builder.entry(at));
  }
  return entries.toSorted((left, right) =>
    left.uri < right.uri ? -1 : left.uri > right.uri ? 1 : 0,
  );
}

/** The look as the main thread uses it. */
export function openLook(
  shared: SharedLook,
): readonly (Omit<SharedAnswer, "world"> & Required<EntryEvidence>)[] {
  const trees = memo((tree: SharedManifest) => Manifest.of(tree));
  const written = memo<SharedChanges, WrittenEntries>(() => new WrittenEntries());
  const list = ReadingList.of(shared.list);
  return shared.answers.map(({ world, ...answer }) => ({
    ...answer,
    list,
    written: written(world.changes),
    world: {
      name: world.name,
      realPath: world.realPath,
      tree: trees(world.tree),
      changes: Changes.of(world.changes),
      ...(world.before === undefined
        ? {}
        : { before: { tree: trees(world.before.tree), prior: openPrior(world.before.prior) } }),
    },
  }));
}

function openPrior({ bytes, starts }: SharedPrior): PriorContent {
  const column = wordsColumn();
  column.adopt(starts);
  return { bytes: Buffer.from(bytes), starts: column };
}

/** One result for one object: a message keeps what is one object one object. */
function memo<From extends object, To>(make: (from: From) => To): (from: From) => To {
  const made = new Map<From, To>();
  return (from) => {
    const known = made.get(from) ?? make(from);
    made.set(from, known);
    return known;
  };
}
