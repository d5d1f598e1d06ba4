import type { Readable, Writable } from "node:stream";
import { gap, type Gap } from "../../core/gap.ts";
import type { Reply } from "../agent.ts";

/** How much of the end of a reply is kept beside its head, where it was cut. */
const TAIL_BYTES = 65_536;

/** Collects what an agent says: the first bytes up to a limit, how much it was in all, and how it ended. */
export interface ReplyOutput {
  add(chunk: Uint8Array): void;
  readonly totalBytes: () => number;
  reply(): Reply;
  /** What the recording lacks, the stream named by `location`. */
  gaps(location: string): readonly Gap[];
}

/** Keeps at most `maxReplyBytes` from the start and 64 KiB from the end. */
export function replyOutput(maxReplyBytes: number): ReplyOutput {
  const head = new Uint8Array(Math.min(maxReplyBytes, 65_536));
  const kept: { head: Uint8Array; headBytes: number; tail: Uint8Array; total: number } = {
    head,
    headBytes: 0,
    tail: new Uint8Array(0),
    total: 0,
  };
  const decoded = (): { text: string; valid: boolean } => {
    const bytes = kept.head.subarray(0, kept.headBytes);
    return decode(bytes, kept.total > kept.headBytes);
  };
  return {
    add(chunk) {
      kept.total += chunk.length;
      const room = Math.min(maxReplyBytes - kept.headBytes, chunk.length);
      kept.head = withRoom(kept.head, kept.headBytes + room, maxReplyBytes);
      kept.head.set(chunk.subarray(0, room), kept.headBytes);
      kept.headBytes += room;
      if (room < chunk.length) kept.tail = lastOf(kept.tail, chunk.subarray(room));
    },
    totalBytes: () => kept.total,
    reply() {
      const { text } = decoded();
      if (kept.total === kept.headBytes)
        return { text, textTruncated: false, totalBytes: kept.total };
      const tail = new TextDecoder()
        .decode(kept.tail.subarray(-TAIL_BYTES))
        .replace(/^\uFFFD+/, "");
      return { text, textTruncated: true, tail, totalBytes: kept.total };
    },
    gaps(location) {
      const cut = kept.total - kept.headBytes;
      return [
        ...(cut === 0 ? [] : [cutGap(location, kept.headBytes, kept.total)]),
        ...(decoded().valid
          ? []
          : [gap("not_text", location, { detail: "it holds bytes that are no UTF-8" })]),
      ];
    },
  };
}

/** The gap of a reply of which only the head was kept. */
export function cutGap(location: string, keptBytes: number, totalBytes: number): Gap {
  return gap("text_not_retained", location, {
    detail: `the first ${keptBytes} of ${totalBytes} bytes were kept`,
    remedy: `Raise maxReplyBytes to ${totalBytes}.`,
  });
}

/** Cuts a text that is at hand to its head. */
export function replyOf(
  text: string,
  maxReplyBytes: number,
  location: string,
): { readonly reply: Reply; readonly gaps: readonly Gap[] } {
  const output = replyOutput(maxReplyBytes);
  output.add(new TextEncoder().encode(text));
  return { reply: output.reply(), gaps: output.gaps(location) };
}

function withRoom(bytes: Uint8Array, needed: number, limit: number): Uint8Array {
  if (needed <= bytes.length) return bytes;
  const grown = new Uint8Array(Math.min(limit, Math.max(needed, bytes.length * 2)));
  grown.set(bytes);
  return grown;
}

/** The last bytes; up to twice as many as needed are held, so that not every small chunk moves them. */
function lastOf(tail: Uint8Array, chunk: Uint8Array): Uint8Array {
  if (chunk.length >= TAIL_BYTES) return chunk.slice(-TAIL_BYTES);
  const before =
    tail.length + chunk.length > 2 * TAIL_BYTES ? tail.subarray(chunk.length - TAIL_BYTES) : tail;
  const joined = new Uint8Array(before.length + chunk.length);
  joined.set(before);
  joined.set(chunk, before.length);
  return joined;
}

/** Bytes that are no UTF-8 become U+FFFD; a character that the cut took the rest of is left out. */
function decode(bytes: Uint8Array, cut: boolean): { text: string; valid: boolean } {
  const options = { stream: cut };
  try {
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { text: strict.decode(bytes, options), valid: true };
  } catch {
    const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
    return { text: lenient.decode(bytes, options), valid: false };
  }
}

/** A stream of the agent on its way to ours. */
export interface Tee {
  /** Fulfilled once the stream has ended, in whatever way. */
  readonly done: Promise<void>;
  hasEnded(): boolean;
  /** Whether the sink has not yet taken what it was given. */
  isHeldUp(): boolean;
  stop(): void;
}

/** Hands every chunk on and keeps it. A sink that is slow slows the agent; one that is gone (a closed pipe) is left alone. */
export function tee(stream: Readable, sink: Writable | undefined, output: ReplyOutput): Tee {
  let open = sink !== undefined;
  let ended = false;
  const drop = (): void => {
    open = false;
    stream.resume();
  };
  const resume = (): void => void stream.resume();
  sink?.on("error", drop).on("close", drop).on("drain", resume);
  stream.on("data", (chunk: Uint8Array) => {
    output.add(chunk);
    if (open && sink !== undefined && sink.writable && !sink.write(chunk)) stream.pause();
  });
  const done = new Promise<void>((resolve) => {
    const end = (): void => {
      ended = true;
      sink?.off("error", drop).off("close", drop).off("drain", resume);
      resolve();
    };
    stream.once("close", end).on("error", () => {});
  });
  return {
    done,
    hasEnded: () => ended,
    isHeldUp: () => open && sink?.writableNeedDrain === true,
    stop: () => void stream.destroy(),
  };
}
