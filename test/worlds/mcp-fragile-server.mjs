// An MCP server over stdio that fails as it is told: its tool "crash" kills it, "hang" never answers, "fail" answers with an error.
import { createInterface } from "node:readline";

const answer = (id, rest) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);

const TOOLS = {
  crash: () => process.kill(process.pid, "SIGKILL"),
  hang: () => {},
  fail: (id) => answer(id, { result: { isError: true, content: [{ type: "text", text: "no" }] } }),
  refuse: (id) => answer(id, { error: { code: -32602, message: "Unknown tool" } }),
  break: (id) => answer(id, { error: { code: -32603, message: "Internal error" } }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    answer(id, {
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "fragile", version: "1" },
      },
    });
  else if (method === "tools/list")
    answer(id, {
      result: {
        tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })),
      },
    });
  else if (method === "tools/call") {
    const tool = TOOLS[params.name];
    if (tool === undefined) answer(id, { result: { content: [{ type: "text", text: "done" }] } });
    else tool(id);
  }
}
