/** A child of an element: a text is always a text, whatever it holds. */
export type Child = Node | string | null;

/** Attributes by name; false and undefined leave one out. Listeners are added by the caller, never by a name. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Makes an element. Nothing of it is ever read as markup: evidence can hold what it wants. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A button with a word and what it does. */
export function button(word: string, act: () => void, attributes: Attributes = {}): HTMLElement {
  const made = element("button", { type: "button", ...attributes }, word);
  made.addEventListener("click", act);
  return made;
}

/** A part that is closed at first and made when it is opened: a page of evidence can be large. */
export function folded(
  summary: readonly Child[],
  open: () => readonly Child[],
  attributes: Attributes = {},
): HTMLDetailsElement {
  // Spaces, so that words do not run together where they are read out or copied.
  const words = summary.flatMap((child) => (child === null ? [] : [child, " "]));
  const details = element("details", attributes, element("summary", {}, ...words));
  const fill = (): void => {
    if (details.childElementCount > 1) return;
    details.append(...open().filter((child) => child !== null));
  };
  details.addEventListener("toggle", () => {
    if (details.open) fill();
  });
  if (details.open) fill();
  return details;
}

/** A section with its heading, which the menu leads to. */
export function section(id: string, heading: string, ...children: readonly Child[]): HTMLElement {
  return element(
    "section",
    { id, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, heading),
    ...children,
  );
}
