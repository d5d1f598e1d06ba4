/** What an endpoint said. `cut` says that it stopped before the end of its own text. */
export interface EndpointAnswer {
  readonly text: string;
  readonly cut: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields) // any object can be asked for a field
    : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The fields under which plain services answer, in the order in which they are looked for. */
const PLAIN_FIELDS = ["reply", "answer", "output", "response", "text", "content", "message"];

/**
 * Reads the answers that are in common use: OpenAI's chat completions and responses, Anthropic's and Ollama's messages, a
 * JSON text, and an object with its text under one of `reply`, `answer`, `output`, `response`, `text`, `content`, `message`.
 * Undefined where the value is none of these.
 */
export function commonAnswer(value: unknown): EndpointAnswer | undefined {
  if (typeof value === "string") return { text: value, cut: false };
  const fields = fieldsOf(value);
  return chatCompletion(fields) ?? responseOutput(fields) ?? plainField(fields);
}

function chatCompletion(fields: Fields): EndpointAnswer | undefined {
  const choice = fieldsOf(listOf(fields["choices"])[0]);
  const message = fieldsOf(choice["message"]);
  const text = textOf(message["content"]) ?? textOf(message["refusal"]) ?? textOf(choice["text"]);
  if (text !== undefined) return { text, cut: choice["finish_reason"] === "length" };
  // A model that only calls tools says nothing.
  return Array.isArray(message["tool_calls"]) ? { text: "", cut: false } : undefined;
}

function responseOutput(fields: Fields): EndpointAnswer | undefined {
  const cut = fields["status"] === "incomplete";
  if (typeof fields["output_text"] === "string") return { text: fields["output_text"], cut };
  const texts = listOf(fields["output"])
    .map((item) => textOf(fieldsOf(item)["content"]))
    .filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : { text: texts.join("\n"), cut };
}

function plainField(fields: Fields): EndpointAnswer | undefined {
  const cut = fields["stop_reason"] === "max_tokens" || fields["done_reason"] === "length";
  for (const name of PLAIN_FIELDS) {
    const text = textOf(fields[name]) ?? textOf(fieldsOf(fields[name])["content"]);
    if (text !== undefined) return { text, cut };
  }
  return undefined;
}

/** A text, or the texts of a list of parts; parts that hold none, such as images, are passed over. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return undefined;
  const texts = value
    .map((part) => (typeof part === "string" ? part : fieldsOf(part)["text"]))
    .filter((text) => typeof text === "string");
  return texts.length === 0 ? undefined : texts.join("");
}
