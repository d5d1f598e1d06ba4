// An agent that makes calls to an MCP server over stdio: node mcp-agent.mjs CALLS-AS-JSON SERVER COMMAND...
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [calls, command, ...args] = process.argv.slice(2);
// Servers get a small environment of their own; the proxy is to find the calls file in it.
const env = { ...process.env };
const transport = new StdioClientTransport({ command, args, env, stderr: "ignore" });
const client = new Client({ name: "agent", version: "1" });
await client.connect(transport);
for (const call of JSON.parse(calls)) await client.callTool(call);
await client.close();
