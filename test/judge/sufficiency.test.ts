import { describe, expect, test } from "vitest";
import { gap } from "../../src/core/gap.ts";
import { Digest } from "../../src/core/ids.ts";
import type { Observation } from "../../src/core/observation.ts";
import { EvidencePart } from "../../src/evidence/statement.ts";
import type { JudgedClaim } from "../../src/judge/claim.ts";
import { observeCalls } from "../worlds/calls.ts";
import { claim, evidenceOf, judgeOne, says, scriptedJudge } from "../worlds/judging.ts";
import { conversation, created, cutFile, file, modified, observe } from "../worlds/observations.ts";

const said = conversation([{ role: "user", text: "Cancel it." }, { text: "Done." }]);
const calls = observeCalls([{ name: "file", calls: [{ name: "cancel", given: { id: 1 } }] }]);
const files = (more: Parameters<typeof observe>[0] = {}): Observation =>
  observe({ extent: "delta", entries: [created("workspace:/a.txt", file("hello"))], ...more });
const rows = (more: Parameters<typeof observe>[0] = {}): Observation =>
  observe({ extent: "delta", surface: "sql", uri: "shop:/**", ...more });

const part = (state: "withheld" | "redacted", title: string): EvidencePart =>
  EvidencePart.parse({
    title,
    mediaType: "application/json",
    digest: Digest.parse(`sha256:${"ab".repeat(32)}`),
    sizeBytes: 3,
    state,
    ...(state === "redacted" ? { redactions: [{ rule: "token", count: 2 }] } : {}),
  });

interface Row {
  readonly name: string;
  readonly observations: readonly Observation[];
  readonly parts?: readonly EvidencePart[];
  readonly needs?: JudgedClaim["needs"];
  readonly calls: 0 | 1;
  readonly want: "refuted" | "undetermined";
  readonly gaps?: readonly string[];
}

/** What a flat "no" of the judge comes to. */
const table: readonly Row[] = [
  {
    name: "a transcript that is there",
    observations: [said],
    needs: ["transcript"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "no transcript",
    observations: [files()],
    needs: ["transcript"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing"],
  },
  {
    name: "calls are no transcript",
    observations: [
      observeCalls([{ name: "file", calls: [{ name: "say", given: { text: "hello" } }] }]),
    ],
    needs: ["transcript"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing"],
  },
  {
    name: "rows that are there",
    observations: [rows()],
    needs: ["rows"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "files are no rows",
    observations: [files()],
    needs: ["rows"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing"],
  },
  {
    name: "one of two kinds is missing",
    observations: [said],
    needs: ["transcript", "tool-calls"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing"],
  },
  {
    name: "a root that could not be looked at",
    observations: [
      said,
      files({ entries: [], unavailable: true, gaps: [gap("root_unavailable", "workspace:/")] }),
    ],
    needs: ["files"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing", "root_unavailable"],
  },
  {
    name: "a file of calls that never came",
    observations: [
      said,
      observeCalls([
        {
          name: "file",
          calls: [],
          complete: false,
          gaps: [gap("evidence_kind_missing", "calls:/file")],
        },
      ]),
    ],
    needs: ["tool-calls"],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing", "evidence_kind_missing"],
  },
  {
    name: "a file of calls that is whole and empty",
    observations: [observeCalls([{ name: "file", calls: [] }])],
    needs: ["tool-calls"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "spans, which are never whole",
    observations: [
      observeCalls([
        {
          name: "otlp",
          calls: [{ name: "a", given: 1, result: { kind: "json", text: "1" } }],
          complete: false,
        },
      ]),
    ],
    needs: ["tool-calls"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "trace_incomplete"],
  },
  {
    name: "nothing at all",
    observations: [],
    calls: 0,
    want: "undetermined",
    gaps: ["evidence_kind_missing"],
  },
  {
    name: "no stated needs: what is there must be whole",
    observations: [said, files()],
    calls: 1,
    want: "refuted",
  },
  {
    name: "no stated needs, and a hole",
    observations: [said, files({ gaps: [gap("listing_failed", "workspace:/private")] })],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "listing_failed"],
  },
  {
    name: "a hole in what it does not need",
    observations: [said, files({ gaps: [gap("listing_failed", "workspace:/private")] })],
    needs: ["transcript"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "a message that was cut",
    observations: [conversation([{ text: "Dear", textTruncated: true }])],
    needs: ["transcript"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "text_not_retained"],
  },
  {
    name: "a file of which the head was kept",
    observations: [files({ entries: [created("workspace:/big", cutFile("a long text", 3))] })],
    needs: ["files"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "text_not_retained"],
  },
  {
    name: "a file that is no text",
    observations: [
      files({
        entries: [created("workspace:/x.png", file(new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 0])))],
      }),
    ],
    needs: ["files"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "not_text"],
  },
  {
    name: "a file whose content before is not known",
    observations: [files({ entries: [modified("workspace:/a", undefined, file("now"))] })],
    needs: ["files"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "prior_content_unknown"],
  },
  {
    name: "the delta is whole, and a narrow look beside it was cut",
    observations: [
      files(),
      observe({
        uri: "workspace:/big/**",
        gaps: [gap("file_limit_exceeded", "workspace:/big/**")],
      }),
    ],
    needs: ["files"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "only a narrow look, and it was cut",
    observations: [
      observe({
        uri: "workspace:/big/**",
        gaps: [gap("file_limit_exceeded", "workspace:/big/**")],
      }),
    ],
    needs: ["files"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "file_limit_exceeded"],
  },
  {
    name: "a withheld part",
    observations: [],
    parts: [part("withheld", "transcript.jsonl")],
    needs: ["transcript"],
    calls: 0,
    want: "undetermined",
    gaps: ["part_withheld"],
  },
  {
    name: "a withheld part beside what is there",
    observations: [files()],
    parts: [part("withheld", "contents/workspace.json")],
    needs: ["files"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "part_withheld"],
  },
  {
    name: "a redacted part",
    observations: [said],
    parts: [part("redacted", "transcript.jsonl")],
    needs: ["transcript"],
    calls: 1,
    want: "undetermined",
    gaps: ["absence_unproven", "content_redacted"],
  },
  {
    name: "a redacted part of another kind",
    observations: [said],
    parts: [part("redacted", "observations/shop.json")],
    needs: ["transcript"],
    calls: 1,
    want: "refuted",
  },
  {
    name: "a withheld part of a root that nobody names",
    observations: [said],
    parts: [part("withheld", "world/gone.json")],
    needs: ["transcript"],
    calls: 1,
    want: "refuted",
  },
];

describe("what a no comes to", () => {
  test.each(table.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    const judge = scriptedJudge([{ verdicts: [says("c", false)] }]);
    const evidence = evidenceOf(row.observations, { parts: row.parts ?? [] });
    const asked = claim("c", { needs: row.needs ?? [] });
    const { verdict, outcome } = await judgeOne(evidence, asked, judge);
    expect(judge.asked).toHaveLength(row.calls);
    expect(outcome.kind).toBe(row.calls === 0 ? "not_asked" : "answered");
    expect(verdict.value).toBe(row.want);
    if (verdict.value === "undetermined")
      expect(verdict.gaps.map(({ code }) => code)).toEqual(row.gaps);
  });
});

test("what was recorded as not whole is told to the judge, and a yes needs no whole evidence", async () => {
  const hole = gap("listing_failed", "workspace:/private");
  const judge = scriptedJudge([
    { verdicts: [says("c", true, [{ evidence: "E1", quote: "hello" }])] },
  ]);
  const { verdict } = await judgeOne(evidenceOf([files({ gaps: [hole] })]), claim("c"), judge);
  expect(verdict).toMatchObject({ value: "upheld", witnesses: [{ uri: "workspace:/a.txt" }] });
  expect(judge.asked[0]).toContain(
    '"code":"listing_failed","count":1,"location":"workspace:/private"',
  );
});

test("calls that are there and calls that the needs name are one kind", async () => {
  const judge = scriptedJudge([
    { verdicts: [says("c", true, [{ evidence: "E1", quote: "cancel" }])] },
  ]);
  const { verdict } = await judgeOne(
    evidenceOf([calls]),
    claim("c", { needs: ["tool-calls"] }),
    judge,
  );
  expect(verdict.value).toBe("upheld");
});
