/** An answer that was read to its end. */
export interface FetchedBody {
  readonly kind: "body";
  /** The media type, in lower case and without its parameters. */
  readonly type: string;
  readonly text: string;
  /** What it is as JSON, where it is. */
  readonly json: { readonly value: unknown } | undefined;
}

/** Reads a response, at most `maxBytes` of it; undefined where it is longer. */
export async function readBody(
  response: Response,
  maxBytes: number,
): Promise<FetchedBody | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (response.body !== null) {
    // Leaving the loop early closes the connection.
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > maxBytes) return undefined;
      chunks.push(chunk);
    }
  }
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
  return { kind: "body", type: type.trim().toLowerCase().slice(0, 100), text, json: jsonOf(text) };
}

function jsonOf(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch {
    return undefined;
  }
}
