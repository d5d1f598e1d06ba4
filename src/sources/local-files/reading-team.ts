import { UpheldError } from "../../core/errors.ts";
import { readFiles, type ReadingPlace } from "./list-reader.ts";
import type { ReadingList } from "./reading-list.ts";
import { SecondThread, type AskForHelp } from "./second-thread.ts";

/** From so many files, or so many bytes, on a second thread is worth its start. */
const MANY_FILES = 20_000;
const MANY_BYTES = 64 << 20;

/** Reads all files of a list, with a second thread where there are many. Throws `Aborted`, and "internal" where that thread broke. */
export function readAll(
  list: ReadingList,
  place: ReadingPlace,
  plannedBytes: number,
  askForHelp: AskForHelp | undefined,
): void {
  const meter =
    askForHelp !== undefined && (list.count > MANY_FILES || plannedBytes > MANY_BYTES)
      ? place.meter.share()
      : undefined;
  if (meter === undefined || askForHelp === undefined) {
    readFiles(list, place);
    return;
  }
  const second = new SecondThread();
  askForHelp(second.order({ kind: "contents", list: list.share() }, place, meter));
  try {
    readFiles(list, place);
  } finally {
    const told = second.wait();
    if (told?.kind === "contents") list.addMisses(told.misses);
  }
  if (list.waiting() > 0)
    throw new UpheldError("internal", "the second reading thread left files unread");
}
