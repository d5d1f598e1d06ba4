import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { CallTap, type RecordedLine } from "./call-tap.ts";

export interface ProxyOptions {
  /** The server's command. */
  readonly command: readonly string[];
  /** The calls file, to which lines are added. */
  readonly out: string;
  readonly now: () => string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly signal?: AbortSignal | undefined;
  /** Told once, when the file can no longer be written: the server is served all the same. */
  readonly onUnrecorded?: (reason: string) => void;
}

/** How the server ended. */
export type ServerEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: NodeJS.Signals }
  | { readonly kind: "not_started"; readonly reason: string };

/**
 * Stands between an MCP client and a server over stdio. Every byte passes unchanged, in order and at the pace of the slower side;
 * what is a call is recorded before the server gets it. When the client hangs up the server's input ends, and when the server
 * ends so do we. Throws where the calls file cannot be opened.
 */
export async function runMcpProxy(options: ProxyOptions): Promise<ServerEnd> {
  using file = new CallsFileWriter(options.out, options.onUnrecorded);
  const [program = "", ...args] = options.command;
  const tap = new CallTap({
    session: randomBytes(6).toString("hex"),
    server: basename(program),
    now: options.now,
    record: (line) => file.append(line),
  });
  const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = endOf(server);
  const stopped = stopWith(server, options.signal);
  void pass(options.stdin, server.stdin, (chunk) => tap.fromClient(chunk));
  const passed = pass(server.stdout, options.stdout, (chunk) => tap.fromServer(chunk));
  try {
    const end = await ended;
    // A process that the server left behind may hold its output open for ever.
    await Promise.race([passed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return end;
  } finally {
    stopped.release();
    options.stdin.destroy();
    tap.end();
  }
}

const DRAIN_MS = 1_000;
/** From SIGTERM to SIGKILL; clients of MCP give two seconds to us. */
const GRACE_MS = 1_500;

/** Ends the server when we are asked to end. */
function stopWith(server: ChildProcess, signal: AbortSignal | undefined): { release(): void } {
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    server.kill("SIGTERM");
    killing = setTimeout(() => server.kill("SIGKILL"), GRACE_MS);
  };
  signal?.addEventListener("abort", stop);
  return {
    release() {
      clearTimeout(killing);
      signal?.removeEventListener("abort", stop);
    },
  };
}

/** Gives on every byte, after `listen` saw it, and ends where the source ends. Resolves when all that came is written. */
function pass(from: Readable, to: Writable, listen: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    let isOpen = true;
    const finish = (): void => {
      if (!isOpen) return;
      isOpen = false;
      // Our own standard output is not ours to close, but all must be written before this process ends.
      if (to === process.stdout) to.write("", () => resolve());
      else to.end(() => resolve());
    };
    from.on("data", (chunk: Buffer) => {
      listen(chunk);
      if (!isOpen || to.write(chunk)) return;
      from.pause();
      to.once("drain", () => from.resume());
    });
    from.once("end", finish).once("close", finish).once("error", finish);
    // A reader that is gone: what still comes is taken and recorded, so that nobody waits.
    to.on("error", () => {
      isOpen = false;
      from.resume();
      resolve();
    });
  });
}

function endOf(server: ChildProcess): Promise<ServerEnd> {
  return new Promise((resolve) => {
    server.once("error", (error) => resolve({ kind: "not_started", reason: codeOf(error) }));
    server.once("exit", (code, signal) =>
      resolve(signal === null ? { kind: "exited", code: code ?? 1 } : { kind: "signaled", signal }),
    );
  });
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error
    ? String(error.code)
    : String(error);
}

/** Appends whole lines, synchronously: a call is on its way to the disk before it is on its way to the server. */
class CallsFileWriter implements Disposable {
  readonly #handle: number;
  readonly #onUnrecorded: ((reason: string) => void) | undefined;
  #hasFailed = false;

  constructor(path: string, onUnrecorded: ((reason: string) => void) | undefined) {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
    this.#handle = openSync(path, flags, 0o600);
    this.#onUnrecorded = onUnrecorded;
    // A line that an earlier writer did not finish must not swallow ours.
    if (!this.#endsInNewline()) this.#write("\n");
  }

  append(line: RecordedLine): void {
    this.#write(`${JSON.stringify(line)}\n`);
  }

  #endsInNewline(): boolean {
    const { size } = fstatSync(this.#handle);
    if (size === 0) return true;
    const last = Buffer.alloc(1);
    readSync(this.#handle, last, 0, 1, size - 1);
    return last[0] === 0x0a;
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    try {
      // A full disk writes less than it was given, without an error.
      for (let at = 0; at < bytes.length;)
        at += writeSync(this.#handle, bytes, at, bytes.length - at);
    } catch (error) {
      if (!this.#hasFailed) this.#onUnrecorded?.(codeOf(error));
      this.#hasFailed = true;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#handle);
  }
}
