// @ts-check
// An agent behind HTTP, for `upheld run --endpoint URL --prompt TEXT`. It answers a POST of
// { messages: [{ role, content }] }, and writes what it is asked to write into the directory that it was started in.
//
//   node examples/agents/http-agent.mjs 8123
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname } from "node:path";

const port = Number(process.argv[2] ?? "0");

/** @param {string} prompt "write FILE: TEXT" */
function perform(prompt) {
  const [, file, text] = /^write ([\w./-]+): ([^]*)$/.exec(prompt) ?? [];
  if (file === undefined || text === undefined || file.includes("..") || file.startsWith("/")) {
    return "I did nothing.";
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return `I wrote ${file}.`;
}

/** @param {import("node:http").IncomingMessage} request */
async function answer(request) {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  /** @type {{ messages?: { role: string, content: string }[] }} */
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const content = perform(body.messages?.at(-1)?.content ?? "");
  return JSON.stringify({ choices: [{ message: { role: "assistant", content } }] });
}

const server = createServer((request, response) => {
  answer(request).then(
    (text) => response.setHeader("content-type", "application/json").end(text),
    () => response.writeHead(400).end(),
  );
});
server.listen(port, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`listening on ${address.port}`);
});
