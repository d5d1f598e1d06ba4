import type { ServerResponse } from "node:http";

/** A way in which a collector, or what stands before it, goes wrong once. */
export type CollectorFault =
  /** Answers with a status, and with a collector's error where a code is given. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly code?: string;
      readonly retryAfter?: string;
    }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" }
  /** Does not even read the request. */
  | { readonly kind: "deaf" }
  /** Breaks the connection before an answer. */
  | { readonly kind: "close" }
  /** Does the work, and breaks the connection in place of the answer. */
  | { readonly kind: "lost_answer" }
  /** Breaks the connection in the middle of an answer. */
  | { readonly kind: "close_mid_body" }
  /** Answers 200 with something that is no JSON. */
  | { readonly kind: "garbage" }
  /** Acknowledges something that was not sent. */
  | { readonly kind: "wrong_digest" }
  /** Answers 200 with more than any collector says. */
  | { readonly kind: "endless" };

/** Where a fault strikes: before the request is read, before the work is done, or after it. */
export function momentOf({ kind }: CollectorFault): "reading" | "work" | "answer" {
  if (kind === "deaf") return "reading";
  return kind === "lost_answer" ? "answer" : "work";
}

/** Does what the fault says in place of an answer. */
export function strike(fault: CollectorFault, response: ServerResponse): void {
  switch (fault.kind) {
    case "status":
      answerStatus(fault, response);
      return;
    case "hang":
    case "deaf":
      return;
    case "close":
    case "lost_answer":
      response.destroy();
      return;
    case "close_mid_body":
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"status":"stored","dig', () => response.destroy());
      return;
    case "garbage":
      response.writeHead(200, { "content-type": "text/html" }).end("<html>It works!</html>");
      return;
    case "wrong_digest":
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ status: "stored", digest: `sha256:${"0".repeat(64)}` }));
      return;
    case "endless":
      response.writeHead(200, { "content-type": "application/json" }).end(" ".repeat(1_000_000));
      return;
  }
}

function answerStatus(
  { status, code, retryAfter }: Extract<CollectorFault, { kind: "status" }>,
  response: ServerResponse,
): void {
  const body = code === undefined ? "<h1>Error</h1>" : JSON.stringify({ error: { code } });
  response
    .writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter })
    .end(body);
}
