import { gap } from "../../core/gap.ts";
import type { WorldLook, WorldQuestion } from "../../core/world.ts";
import { sqlCode } from "./client.ts";
import { destroyedBy } from "./postgres-look.ts";
import { readPostgresWorld, type PostgresMoment } from "./postgres-world.ts";

/** The moment of the last look, held for one question about what was there. */
export class KeptMoment implements AsyncDisposable {
  readonly #root: string;
  readonly #left: PostgresMoment[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  readonly take = (moment: PostgresMoment): void => {
    for (const { client } of this.#left.splice(0)) client.destroy();
    this.#left.push(moment);
  };

  async world(question: WorldQuestion, signal: AbortSignal | undefined): Promise<WorldLook> {
    const moment = this.#left.at(-1);
    if (moment === undefined) return this.#unread("it was not read before");
    try {
      using _ = destroyedBy(signal, moment.client);
      return await readPostgresWorld(moment, question);
    } catch (error) {
      signal?.throwIfAborted();
      return this.#unread(sqlCode(error));
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  #unread(detail: string): WorldLook {
    return { tables: [], gaps: [gap("database_unavailable", `${this.#root}:/`, { detail })] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client } of this.#left.splice(0)) await client[Symbol.asyncDispose]();
  }
}
