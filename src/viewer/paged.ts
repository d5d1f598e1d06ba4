import { count } from "../report/bounds.ts";
import { button, element } from "./element.ts";

/** Items of a page. */
const PAGE_SIZE = 100;

/**
 * A long list a page at a time: ten thousand rows stay usable, and a reader of the screen is told where he is. `page` makes the
 * elements of one page.
 */
export function paged<T>(
  items: readonly T[],
  noun: string,
  page: (items: readonly T[]) => HTMLElement,
): HTMLElement {
  if (items.length <= PAGE_SIZE) return page(items);
  const last = Math.ceil(items.length / PAGE_SIZE) - 1;
  let at = 0;
  const state = element("span", { role: "status" });
  const place = element("div");
  const show = (next: number): void => {
    at = Math.max(0, Math.min(last, next));
    const from = at * PAGE_SIZE;
    const shown = items.slice(from, from + PAGE_SIZE);
    state.textContent = `${noun} ${count(from + 1)} to ${count(from + shown.length)} of ${count(items.length)}`;
    place.replaceChildren(page(shown));
  };
  show(0);
  return element(
    "div",
    { class: "paged" },
    element(
      "p",
      { class: "pager" },
      button("First", () => show(0)),
      button("Previous", () => show(at - 1)),
      state,
      button("Next", () => show(at + 1)),
      button("Last", () => show(last)),
    ),
    place,
  );
}
