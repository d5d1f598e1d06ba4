import { canonicalJson } from "../../core/canonical-json.ts";

/** Where the lines of a payload are: the first `count` of a part. */
export interface LinesReference {
  readonly part: string;
  readonly count: number;
}

/** Lists that several observations hold, such as the messages of a conversation: a part for each, its lines written once. */
export class LinesParts {
  readonly #parts: {
    readonly title: string;
    readonly texts: readonly string[];
    readonly lines: readonly unknown[];
  }[] = [];

  get parts(): readonly { readonly title: string; readonly lines: readonly unknown[] }[] {
    return this.#parts;
  }

  /** Names the part that starts with these lines: `STEM.jsonl`, or `STEM-2.jsonl` where that one holds others. */
  refer(stem: string, lines: readonly unknown[]): LinesReference {
    const texts = lines.map(canonicalJson);
    const own = this.#parts.filter(({ title }) => title.startsWith(stem));
    const known = own.find((part) => texts.every((text, index) => part.texts[index] === text));
    if (known !== undefined) return { part: known.title, count: lines.length };
    const title = own.length === 0 ? `${stem}.jsonl` : `${stem}-${own.length + 1}.jsonl`;
    this.#parts.push({ title, texts, lines });
    return { part: title, count: lines.length };
  }
}
