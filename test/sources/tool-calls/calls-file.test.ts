import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, array, constantFrom, property, uint8Array } from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolsPayload } from "../../../src/core/observation.ts";
import { argumentsOf, resultOf, shownName, shownOutcome } from "../../../src/core/tool-call.ts";
import { callsFile, MAX_CALL_LINE_BYTES } from "../../../src/sources/tool-calls/jsonl.ts";
import { LineSplitter } from "../../../src/sources/tool-calls/lines.ts";
import { readTime } from "../../../src/sources/tool-calls/call-line.ts";
import { mergeRecordings } from "../../../src/sources/tool-calls/merge.ts";
import { callLimitsOf } from "../../../src/sources/tool-calls/source.ts";
import { Workplace } from "../../cli/upheld.ts";
import { SCOPE } from "../../worlds/calls.ts";

const OK = '{"name":"a","arguments":{"x":1},"result":"r","outcome":"ok"}';

async function readAfter(
  before: string | undefined,
  agent: (path: string) => void,
  limits = {},
): Promise<ToolsPayload> {
  using place = new Workplace();
  const path = join(place.path, "calls.jsonl");
  if (before !== undefined) writeFileSync(path, before);
  const recorder = callsFile(path, callLimitsOf(limits));
  await recorder.mark();
  agent(path);
  const recording = await recorder.read({});
  return mergeRecordings(SCOPE, [{ name: recorder.name, kind: recorder.kind, recording }]);
}

const write = (text: string) => (path: string) => writeFileSync(path, text);
const append = (text: string) => (path: string) => appendFileSync(path, text);

const codes = ({ recorders: [recorder] }: ToolsPayload): unknown =>
  recorder?.gaps.map(({ code, location }) => [code, location.replace("calls:/calls-file", "")]);

interface Row {
  readonly what: string;
  readonly before?: string;
  readonly agent: (path: string) => void;
  readonly names: readonly string[];
  readonly gaps: readonly (readonly string[])[];
}

const ROWS: readonly Row[] = [
  { what: "never came", agent: () => {}, names: [], gaps: [["evidence_kind_missing", ""]] },
  { what: "is empty", agent: write(""), names: [], gaps: [] },
  { what: "was empty and stayed so", before: "", agent: () => {}, names: [], gaps: [] },
  { what: "holds a call", agent: write(`${OK}\n`), names: ["a"], gaps: [] },
  { what: "ends without a line break", agent: write(OK), names: ["a"], gaps: [] },
  {
    what: "has blank lines and carriage returns",
    agent: write(`\r\n${OK}\r\n\n`),
    names: ["a"],
    gaps: [],
  },
  {
    what: "is of an earlier run, and nothing was added",
    before: `${OK}\n`,
    agent: () => {},
    names: [],
    gaps: [["evidence_kind_missing", ""]],
  },
  {
    what: "is of an earlier run, and one was added",
    before: `${OK}\n`,
    agent: append('{"name":"b","outcome":"ok"}\n'),
    names: ["b"],
    gaps: [],
  },
  {
    what: "was written anew, with what it held",
    before: `${OK}\n`,
    agent: (path) => {
      writeFileSync(`${path}.new`, `${OK}\n{"name":"b","outcome":"ok"}\n`);
      renameSync(`${path}.new`, path);
    },
    names: ["b"],
    gaps: [],
  },
  {
    what: "was replaced",
    before: `${OK}\n`,
    agent: write('{"name":"b","outcome":"ok"}\n'),
    names: ["b"],
    gaps: [],
  },
  { what: "was emptied", before: `${OK}\n`, agent: write(""), names: [], gaps: [] },
  {
    what: "was removed",
    before: `${OK}\n`,
    agent: (path) => rmSync(path),
    names: [],
    gaps: [["evidence_kind_missing", ""]],
  },
  {
    what: "holds a line that was cut",
    agent: write(`${OK}\n${OK.slice(0, 30)}\n${OK}\n`),
    names: ["a", "a"],
    gaps: [["call_truncated", "/line/2"]],
  },
  {
    what: "ends in the middle of a line",
    agent: write(`${OK}\n${OK.slice(0, 30)}`),
    names: ["a"],
    gaps: [["call_truncated", "/line/2"]],
  },
  {
    what: "holds what is no call",
    agent: write(`${OK}\n[]\n{"name":"b"}\n{"outcome":"ok"}\n{"name":"b","outcome":"good"}\n`),
    names: ["a"],
    gaps: [2, 3, 4, 5].map((line) => ["trace_incomplete", `/line/${line}`]),
  },
  {
    what: "holds a recorder's word that it lacks one",
    agent: write('{"gap":"a message was too long"}\n'),
    names: [],
    gaps: [["trace_incomplete", "/line/1"]],
  },
  {
    what: "is a directory",
    agent: (path) => mkdirSync(path),
    names: [],
    gaps: [["evidence_kind_missing", ""]],
  },
  {
    what: "is a link",
    agent: (path) => symlinkSync("/etc/passwd", path),
    names: [],
    gaps: [["evidence_kind_missing", ""]],
  },
  {
    what: "is a pipe",
    agent: (path) => void execFileSync("mkfifo", [path]),
    names: [],
    gaps: [["evidence_kind_missing", ""]],
  },
  {
    what: "holds what is no text",
    agent: (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0x0a])),
    names: [],
    gaps: [["call_truncated", "/line/1"]],
  },
];

const line = (name: string, at?: string): string =>
  JSON.stringify({ name, outcome: "ok", startedAt: at });

describe("a calls file", () => {
  test.each(ROWS)("that $what", async ({ before, agent, names, gaps }) => {
    const payload = await readAfter(before, agent);
    expect(payload.calls.map(shownName)).toEqual(names);
    expect(codes(payload)).toEqual(gaps);
  });

  test("in the words of harnesses", async () => {
    const { calls } = await readAfter(
      undefined,
      write('{"name":"a","arguments":{},"output":{"n":1},"is_error":true,"seq":3}\n'),
    );
    expect(calls.map((call) => [shownOutcome(call), resultOf(call)])).toEqual([
      ["error", { kind: "known", value: { kind: "json", text: '{"n":1}' } }],
    ]);
  });

  test("whose numbers cannot be kept exactly keeps the call, and not the numbers", async () => {
    const { calls, gaps } = await readAfter(
      undefined,
      write('{"name":"a","arguments":{"n":9007199254740993},"outcome":"ok"}\n'),
    );
    expect(calls.map(argumentsOf)).toEqual([{ kind: "known", value: { kind: "cut", head: "" } }]);
    expect(gaps).toMatchObject([{ code: "call_truncated" }]);
  });

  test("with a line beyond what is read: the line is a gap, those around it are calls", async () => {
    const long = `{"name":"b","arguments":"${"x".repeat(MAX_CALL_LINE_BYTES)}","outcome":"ok"}`;
    const payload = await readAfter(undefined, write(`${OK}\n${long}\n${OK}\n`));
    expect(payload.calls.map(shownName)).toEqual(["a", "a"]);
    expect(codes(payload)).toEqual([["call_truncated", "/line/2"]]);
  });

  test("with more calls than are kept says how many there were", async () => {
    const payload = await readAfter(undefined, write(`${OK}\n`.repeat(12)), { maxCalls: 5 });
    expect(payload.recorders).toMatchObject([
      { shown: 5, total: 12, gaps: [{ code: "trace_incomplete", count: 7 }] },
    ]);
  });

  test("with a million lines that are none is not read to its end", async () => {
    const payload = await readAfter(undefined, write("x\n".repeat(1_000_000)));
    const gaps = payload.recorders[0]?.gaps ?? [];
    expect(gaps.length).toBeLessThan(200);
    expect(gaps.reduce((sum, { count }) => sum + count, 0)).toBe(10_002);
    expect(JSON.stringify(gaps)).toContain("not read to its end");
  });

  test("where a call is told twice, begun and ended, it is one", async () => {
    const begun =
      '{"id":"1","name":"a","arguments":{"x":1},"outcome":"unfinished","startedAt":"2026-11-30T10:00:00Z"}';
    const ended =
      '{"id":"1","name":"a","result":2,"outcome":"ok","endedAt":"2026-11-30T10:00:01.5Z"}';
    for (const lines of [
      [begun, ended],
      [begun, ended, ended],
      [begun, begun, ended],
    ]) {
      const { calls, gaps } = await readAfter(undefined, write(`${lines.join("\n")}\n`));
      expect(calls).toHaveLength(1);
      expect(calls[0]?.sightings).toMatchObject([
        {
          outcome: "ok",
          startedAt: "2026-11-30T10:00:00.000000000Z",
          endedAt: "2026-11-30T10:00:01.500000000Z",
          arguments: { text: '{"x":1}' },
          result: { text: "2" },
        },
      ]);
      expect(gaps).toEqual([]);
    }
  });

  test("where one id stands for two contents keeps both, and says so", async () => {
    const { calls, gaps } = await readAfter(
      undefined,
      write(
        '{"id":"1","name":"a","arguments":{"x":1},"outcome":"ok"}\n{"id":"1","name":"a","arguments":{"x":2},"outcome":"ok"}\n',
      ),
    );
    expect(calls.map(({ sightings }) => sightings.length)).toEqual([2]);
    expect(gaps).toMatchObject([
      { code: "calls_contradictory", location: "calls:/1", detail: "arguments" },
    ]);
  });

  test("orders its calls by their starts where each has one, else by its lines", async () => {
    const late = line("late", "2026-11-30T10:00:02+00:00");
    const early = line("early", "2026-11-30T11:00:01+01:00");
    expect((await readAfter(undefined, write(`${late}\n${early}\n`))).calls.map(shownName)).toEqual(
      ["early", "late"],
    );
    expect(
      (await readAfter(undefined, write(`${late}\n${early}\n${line("none")}\n`))).calls.map(
        shownName,
      ),
    ).toEqual(["late", "early", "none"]);
  });
});

test.each([
  ["2026-11-30T18:48:15Z", "2026-11-30T18:48:15.000000000Z"],
  ["2026-11-30t18:48:15.123456789z", "2026-11-30T18:48:15.123456789Z"],
  ["2026-11-30 18:48:15.5+02:00", "2026-11-30T16:48:15.500000000Z"],
  ["yesterday", undefined],
  ["2026-13-30T18:48:15Z", undefined],
  [1_700_000_000, undefined],
])("the time %s is %s", (text, time) => {
  expect(readTime(text)).toBe(time);
});

test("lines are the same however the bytes come", () => {
  const bytes = array(constantFrom(10, 10, 120, 121, 195, 169), { maxLength: 60 }).map((all) =>
    Uint8Array.from(all),
  );
  assert(
    property(bytes, uint8Array({ min: 1, max: 9, minLength: 1, maxLength: 20 }), (all, sizes) => {
      const lines: string[] = [];
      const splitter = new LineSplitter(8, (line, isCut) =>
        lines.push(`${Buffer.from(line).toString("hex")}${isCut ? "..." : ""}`),
      );
      for (let at = 0, turn = 0; at < all.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        // The memory is used again, as a stream's is.
        const chunk = Buffer.from(all.subarray(at, at + size));
        splitter.push(chunk);
        chunk.fill(0);
        at += size;
      }
      splitter.end();
      const whole = Buffer.from(all).toString("latin1").split("\n");
      if (whole.at(-1) === "") whole.pop();
      expect(lines).toEqual(
        whole.map(
          (line) =>
            `${Buffer.from(line.slice(0, 8), "latin1").toString("hex")}${line.length > 8 ? "..." : ""}`,
        ),
      );
    }),
  );
});
