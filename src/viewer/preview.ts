import { VerdictPreview } from "../report/verdict-preview.ts";
import { element } from "./element.ts";
import { inlineText } from "./evidence-text.ts";

/** What the page was told of the verdicts before the bundle is verified, marked as that; nothing where it was told nothing. */
export function previewSection(): HTMLElement | null {
  const told = document.querySelector("#preview")?.textContent?.trim() ?? "";
  const preview = told === "" ? undefined : VerdictPreview.safeParse(JSON.parse(told));
  if (preview?.success !== true || preview.data.length === 0) return null;
  return element(
    "section",
    { class: "preview", "aria-labelledby": "preview-heading" },
    element("h2", { id: "preview-heading" }, "Verdicts, not verified yet"),
    element(
      "ol",
      {},
      ...preview.data.map(({ name, what, word }) =>
        element("li", {}, element("strong", {}, word), " ", inlineText(what ?? name)),
      ),
    ),
  );
}
