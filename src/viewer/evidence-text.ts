import { count } from "../report/bounds.ts";
import { printable } from "../report/printable.ts";
import { element, button } from "./element.ts";

/** Characters of one text that are shown at first. */
const SHOWN_CHARACTERS = 4_000;
/** Characters that are added at each wish for more. */
const MORE_CHARACTERS = 200_000;

/** A short text of the evidence in one line: what would act on a reader is an escape. */
export function inlineText(text: string): HTMLElement {
  return element("bdi", {}, printable(text));
}

/** A text of the evidence with its lines, the head of it first where it is long. */
export function blockText(text: string, attributes: { readonly class?: string } = {}): HTMLElement {
  const body = element("code", {}, safeLines(text.slice(0, SHOWN_CHARACTERS)));
  const block = element("pre", { tabindex: 0, dir: "auto", ...attributes }, body);
  if (text.length <= SHOWN_CHARACTERS) return block;
  let shown = SHOWN_CHARACTERS;
  const state = element("span", { role: "status" }, countText(shown, text.length));
  const more = button("Show more", () => {
    const next = Math.min(text.length, shown + MORE_CHARACTERS);
    body.append(safeLines(text.slice(shown, next)));
    shown = next;
    state.textContent = countText(shown, text.length);
    if (shown === text.length) more.remove();
  });
  return element("div", { class: "long" }, block, element("p", {}, state, " ", more));
}

function countText(shown: number, total: number): string {
  return `${count(shown)} of ${count(total)} characters`;
}

/** Line breaks and tabs stay what they are; every other control is an escape. */
function safeLines(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(/\r$/, "").split("\t").map(printable).join("\t"))
    .join("\n");
}

/** "shop:/public/orders?id=42" as a place, never a link out of the page. */
export function placeText(uri: string): HTMLElement {
  return element("bdi", { class: "place" }, printable(uri));
}
