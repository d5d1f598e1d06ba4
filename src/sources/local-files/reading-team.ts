import { UpheldError } from "../../core/errors.ts";
import { readFiles, type ReadingPlace } from "./list-reader.ts";
import type { ReadingList } from "./reading-list.ts";
import type { SecondThread } from "./second-thread.ts";

/** From so many files, or so many bytes, on a second thread is worth its start. */
const MANY_FILES = 20_000;
const MANY_BYTES = 64 << 20;

/** Reads all files of a list, with a second thread where there are many. Throws `Aborted`, and "internal" where that thread broke. */
export function readAll(
  list: ReadingList,
  place: ReadingPlace,
  plannedBytes: number,
  second: SecondThread | undefined,
): void {
  const isMuch = list.count > MANY_FILES || plannedBytes > MANY_BYTES;
  if (second === undefined || !isMuch) {
    readFiles(list, place);
    return;
  }
  const shared = second.share({ kind: "contents", list: list.share() }, place.tree);
  try {
    readFiles(list, place);
  } finally {
    const told = shared.wait();
    if (told?.kind === "contents") list.addMisses(told.misses);
  }
  if (list.waiting() > 0)
    throw new UpheldError("internal", "the second reading thread left files unread");
}
