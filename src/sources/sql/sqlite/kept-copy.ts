import { rmSync } from "node:fs";
import { gap, type Gap } from "../../../core/gap.ts";
import type { WorldLook, WorldQuestion } from "../../../core/world.ts";
import { inThread } from "./thread.ts";

/** A copy that was looked at; without a file there was no database. */
export interface LookedAtCopy {
  readonly folder: string;
  readonly file: string | undefined;
}

/** The copy of the last look, held for one question about what was there. */
export class KeptCopy implements Disposable {
  readonly #root: string;
  readonly #copies: LookedAtCopy[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  readonly take = (copy: LookedAtCopy): void => {
    this.#release();
    this.#copies.push(copy);
  };

  async world(question: WorldQuestion, signal: AbortSignal | undefined): Promise<WorldLook> {
    const copy = this.#copies.at(-1);
    if (copy === undefined) return this.#unread("database_unavailable", "it was not read before");
    const deadline = AbortSignal.timeout(question.deadlineMs);
    try {
      if (copy.file === undefined) return { tables: [], gaps: [] };
      const task = { kind: "world", root: this.#root, file: copy.file, question } as const;
      const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
      const done = await inThread(task, both);
      if (done.kind === "world") return done.result;
      const why = "code" in done ? `it cannot be read (${done.code})` : done.kind;
      return this.#unread("database_unavailable", why);
    } catch (error) {
      signal?.throwIfAborted();
      if (!deadline.aborted) throw error;
      return this.#unread("deadline_passed", "one statement took all of it");
    } finally {
      this.#release();
    }
  }

  #unread(code: Gap["code"], detail: string): WorldLook {
    return { tables: [], gaps: [gap(code, `${this.#root}:/`, { detail })] };
  }

  #release(): void {
    for (const { folder } of this.#copies.splice(0))
      rmSync(folder, { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.#release();
  }
}
