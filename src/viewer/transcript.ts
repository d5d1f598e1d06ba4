import type { ConversationPayload } from "../core/observation.ts";
import type { Message } from "../core/conversation.ts";
import { element, type Child } from "./element.ts";
import { blockText } from "./evidence-text.ts";
import { paged } from "./paged.ts";

/** What was said, in order. */
export function transcript(payload: ConversationPayload | undefined): readonly Child[] {
  const messages = payload?.conversation.messages ?? [];
  if (messages.length === 0)
    return [element("p", { class: "empty" }, "No message of this run was recorded.")];
  return [
    paged(messages, "Messages", (page) =>
      element("ol", { class: "messages" }, ...page.map(messageElement)),
    ),
  ];
}

function messageElement({ role, text, textTruncated, at }: Message): HTMLElement {
  return element(
    "li",
    { class: `message ${role}` },
    element("h3", {}, role, " ", element("time", { datetime: at }, at.slice(11, 23))),
    blockText(text, { class: "said" }),
    textTruncated ? element("p", { class: "cut" }, "Only the beginning was kept.") : null,
  );
}
