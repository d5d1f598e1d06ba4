import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  argumentsOf,
  outcomeOf,
  resultOf,
  shownName,
  shownOutcome,
} from "../../../src/core/tool-call.ts";
import type { ToolsPayload } from "../../../src/core/observation.ts";
import { callsFile } from "../../../src/sources/tool-calls/jsonl.ts";
import { mergeRecordings } from "../../../src/sources/tool-calls/merge.ts";
import { CallTap } from "../../../src/sources/tool-calls/mcp/call-tap.ts";
import { callLimitsOf } from "../../../src/sources/tool-calls/source.ts";
import { MAIN, Workplace } from "../../cli/upheld.ts";
import { SCOPE } from "../../worlds/calls.ts";

const modules = join(import.meta.dirname, "../../../node_modules/@modelcontextprotocol");
const FILESYSTEM = [process.execPath, join(modules, "server-filesystem/dist/index.js")];
const EVERYTHING = [process.execPath, join(modules, "server-everything/dist/index.js")];
const FRAGILE = [
  process.execPath,
  join(import.meta.dirname, "../../worlds/mcp-fragile-server.mjs"),
];

interface Connected extends AsyncDisposable {
  readonly client: Client;
  readonly transport: StdioClientTransport;
}

async function connect(command: readonly string[], out?: string): Promise<Connected> {
  const [program = "", ...args] =
    out === undefined
      ? command
      : [process.execPath, MAIN, "mcp-proxy", "--out", out, "--", ...command];
  const transport = new StdioClientTransport({ command: program, args, stderr: "ignore" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return { client, transport, [Symbol.asyncDispose]: () => client.close() };
}

async function recordedIn(path: string): Promise<ToolsPayload> {
  const recorder = callsFile(path, callLimitsOf());
  const recording = await recorder.read({});
  return mergeRecordings(SCOPE, [{ name: recorder.name, kind: recorder.kind, recording }]);
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

describe("in front of the real file system server", { timeout: 60_000 }, () => {
  test("the client gets what it gets without us, and every call is recorded", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    const answers: unknown[] = [];
    for (const to of [undefined, out]) {
      const dir = join(place.path, to === undefined ? "plain" : "proxied");
      mkdirSync(dir);
      await using connected = await connect([...FILESYSTEM, dir], to);
      const { client } = connected;
      const tools = await client.listTools();
      const path = join(dir, "note.txt");
      const calls = [
        {
          name: "write_file",
          arguments: { path, content: 'grün \u{1f600} "quoted"\n'.repeat(2_000) },
        },
        { name: "read_text_file", arguments: { path } },
        { name: "read_text_file", arguments: { path: "/etc/passwd" } },
        { name: "list_directory", arguments: { path: dir } },
      ];
      const results: unknown[] = [];
      for (const call of calls) results.push(await client.callTool(call));
      answers.push(JSON.parse(JSON.stringify({ tools, results }).replaceAll(dir, "DIR")));
    }
    expect(answers[1]).toEqual(answers[0]);
    const { calls, gaps, recorders } = await recordedIn(out);
    expect(calls.map((call) => [shownName(call), shownOutcome(call)])).toEqual([
      ["write_file", "ok"],
      ["read_text_file", "ok"],
      ["read_text_file", "error"],
      ["list_directory", "ok"],
    ]);
    expect(
      calls.every(
        ({ sightings: [{ provenance, by }] }) => provenance === "recorded" && by === "node",
      ),
    ).toBe(true);
    expect(recorders).toMatchObject([{ complete: true, gaps: [], total: 4 }]);
    // What is larger than the limit is cut, and its size said.
    expect(gaps.every(({ code }) => code === "call_truncated")).toBe(true);
    expect(argumentsOf(calls[1]!)).toEqual({
      kind: "known",
      value: { kind: "json", text: JSON.stringify({ path: join(place.path, "proxied/note.txt") }) },
    });
  });
});

describe("in front of the real everything server", { timeout: 300_000 }, () => {
  test("10,000 calls, many at a time: nothing is lost, nothing altered", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    const texts = Array.from({ length: 10_000 }, (_, at) => `${at} ${"\u{1f600}".repeat(at % 50)}`);
    {
      await using connected = await connect(EVERYTHING, out);
      const answered = new Map<string, string>();
      const queue = texts.entries();
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          for (const [, text] of queue) {
            const result = await connected.client.callTool({
              name: "echo",
              arguments: { message: text },
            });
            answered.set(text, JSON.stringify(result.content));
          }
        }),
      );
      expect(answered.size).toBe(10_000);
      for (const [text, content] of answered)
        expect(content).toBe(JSON.stringify([{ type: "text", text: `Echo: ${text}` }]));
    }
    const { calls, gaps, recorders } = await recordedIn(out);
    expect(recorders).toMatchObject([{ complete: true, gaps: [], shown: 10_000, total: 10_000 }]);
    expect(gaps).toEqual([]);
    const seen = new Set(
      calls.map((call) => {
        const given = argumentsOf(call);
        const result = resultOf(call);
        if (given.kind !== "known" || given.value.kind !== "json") throw new Error("no arguments");
        if (result.kind !== "known" || result.value.kind !== "json") throw new Error("no result");
        const { message } = JSON.parse(given.value.text);
        expect(result.value.text).toContain(JSON.stringify(`Echo: ${message}`));
        return message;
      }),
    );
    expect(seen).toEqual(new Set(texts));
  });
});

describe("when something ends badly", { timeout: 60_000 }, () => {
  test("a server that crashes in a call: the client is told, the exit is the server's, the call is unfinished", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    const { client } = await connect(FRAGILE, out);
    await client.callTool({ name: "work", arguments: {} });
    await expect(client.callTool({ name: "crash", arguments: { x: 1 } })).rejects.toThrow(
      /closed/i,
    );
    const { calls, gaps } = await recordedIn(out);
    expect(calls.map(shownOutcome)).toEqual(["ok", "unfinished"]);
    expect(gaps).toMatchObject([{ code: "span_unfinished", location: "calls:/2" }]);
    const exit = spawn(process.execPath, [MAIN, "mcp-proxy", "--out", out, "--", ...FRAGILE], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    exit.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crash"}}\n');
    expect(await new Promise((resolve) => exit.once("exit", resolve))).toBe(128 + 9);
  });

  test("outcomes stay apart", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    const { client } = await connect(FRAGILE, out);
    for (const name of ["work", "fail", "refuse", "break"])
      await client.callTool({ name, arguments: {} }).catch(() => {});
    await client.close();
    expect((await recordedIn(out)).calls.map(shownOutcome)).toEqual([
      "ok",
      "error",
      "refused",
      "error",
    ]);
  });

  test.each(["SIGTERM", "SIGKILL", "close"] as const)(
    "a client that hangs up in a call (%s): the server is gone, the call is on record",
    async (how) => {
      using place = new Workplace();
      const out = join(place.path, "calls.jsonl");
      const pidFile = join(place.path, "pid");
      const server = ["sh", "-c", `echo $$ > '${pidFile}'; exec "$@"`, "sh", ...FRAGILE];
      const { client, transport } = await connect(server, out);
      const hanging = client.callTool({ name: "hang", arguments: { x: 1 } }).catch(() => "ended");
      await expect.poll(() => readFileSync(out, "utf8")).toContain('"hang"');
      const pid = Number(readFileSync(pidFile, "utf8"));
      if (how === "close") await client.close();
      else process.kill(transport.pid ?? 0, how);
      expect(await hanging).toBe("ended");
      await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
      const { calls } = await recordedIn(out);
      expect(calls.map((call) => [shownName(call), outcomeOf(call)])).toEqual([
        ["hang", { kind: "known", value: "unfinished" }],
      ]);
    },
  );

  test("a command that is not there, and a file that cannot be written, are said", async () => {
    using place = new Workplace();
    const missing = await place.upheld([
      "mcp-proxy",
      "--out",
      "calls.jsonl",
      "--",
      "no-such-server",
    ]);
    expect([missing.code, missing.stdout]).toEqual([4, ""]);
    expect(missing.stderr).toContain("no-such-server");
    const unwritable = await place.upheld(["mcp-proxy", "--out", "no/calls.jsonl", "--", "cat"]);
    expect([unwritable.code, unwritable.stdout]).toEqual([5, ""]);
    const nowhere = await place.upheld(["mcp-proxy", "--", "cat"]);
    expect([nowhere.code, nowhere.stderr]).toEqual([64, expect.stringContaining("UPHELD_CALLS")]);
  });
});

describe("every byte passes", { timeout: 60_000 }, () => {
  test("what is no message at all, in both directions, 30 MB of it", async () => {
    using place = new Workplace();
    const input = Buffer.concat([
      randomBytes(10_000_000),
      Buffer.from(
        '\r\n{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":9007199254740993}}}\n',
      ),
      Buffer.alloc(10_000_000, "x"),
      Buffer.from("\n\n"),
      randomBytes(10_000_000),
    ]);
    const out = join(place.path, "calls.jsonl");
    const child = spawn(process.execPath, [MAIN, "mcp-proxy", "--out", out, "--", "cat"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const hash = createHash("sha256");
    let size = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      size += chunk.length;
    });
    child.stdin.end(input);
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, size]).toEqual([0, input.length]);
    expect(hash.digest("hex")).toBe(createHash("sha256").update(input).digest("hex"));
    // A number that would be rounded makes the arguments unknown, not another number.
    const { calls } = await recordedIn(out);
    expect(calls.map((call) => [shownName(call), argumentsOf(call)])).toEqual([
      ["a", { kind: "not_recorded" }],
    ]);
  });

  test("a call is on record before the server gets the end of its line", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    const seen = join(place.path, "seen");
    // The server copies the record as soon as it has read one line.
    const server = ["sh", "-c", `read -r line && cp '${out}' '${seen}'`];
    const child = spawn(process.execPath, [MAIN, "mcp-proxy", "--out", out, "--", ...server], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}\n');
    await new Promise((resolve) => child.once("close", resolve));
    expect(existsSync(seen) && readFileSync(seen, "utf8")).toContain('"name":"a"');
  });

  test("two proxies write one file: every line is whole, and each server keeps its calls", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    await using one = await connect(EVERYTHING, out);
    await using other = await connect(FRAGILE, out);
    const message = "x".repeat(70_000);
    for (let round = 0; round < 20; round += 1)
      await Promise.all(
        Array.from({ length: 5 }, (_, index) => [
          one.client.callTool({ name: "echo", arguments: { message: `${index}${message}` } }),
          other.client.callTool({ name: "work", arguments: { index } }),
        ]).flat(),
      );
    await Promise.all([one.client.close(), other.client.close()]);
    const { calls, recorders } = await recordedIn(out);
    expect(recorders[0]?.gaps.filter(({ code }) => code !== "call_truncated")).toEqual([]);
    const count = (name: string): number =>
      calls.filter((call) => shownName(call) === name && shownOutcome(call) === "ok").length;
    expect([count("echo"), count("work"), calls.length]).toEqual([100, 100, 200]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(200);
  });

  test("after a line that another writer did not finish, ours begins anew", async () => {
    using place = new Workplace();
    const out = join(place.path, "calls.jsonl");
    writeFileSync(out, '{"name":"cut');
    const { client } = await connect(FRAGILE, out);
    await client.callTool({ name: "work", arguments: {} });
    await client.close();
    const { calls, recorders } = await recordedIn(out);
    expect(calls.map(shownName)).toEqual(["work"]);
    expect(recorders[0]?.gaps).toMatchObject([
      { code: "call_truncated", location: "calls:/calls-file/line/1" },
    ]);
  });
});

test("the id that a client passes on beside a call is the call's", () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const tap = new CallTap({
    session: "s",
    server: "x",
    now: () => "",
    record: (line) => lines.push(line),
  });
  const params = { name: "a", _meta: { "claudecode/toolUseId": "toolu_1" } };
  const batch = [
    { jsonrpc: "2.0", id: "1", method: "tools/call", params },
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "b" } },
    { jsonrpc: "2.0", method: "tools/call", params: { name: "no request" } },
  ];
  tap.fromClient(Buffer.from(`${JSON.stringify(batch)}\n`));
  tap.fromServer(
    Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":"1","re'),
  );
  tap.fromServer(Buffer.from('sult":{"isError":true}}\n'));
  expect(lines.map(({ id, name, outcome }) => [id, name, outcome])).toEqual([
    ["toolu_1", "a", "unfinished"],
    ["mcp:s:2", "b", "unfinished"],
    ["mcp:s:2", "b", "ok"],
    ["toolu_1", "a", "error"],
  ]);
});
