import { z } from "zod";
import { Digest } from "../../core/ids.ts";
import { parseStrictJsonBytes } from "../../core/strict-json.ts";
import { Receipt, ReceiptStatus } from "../../evidence/receipt.ts";
import { Judgment } from "../../judge/judgment.ts";
import type { BlobStore } from "../../store/blob-store.ts";
import type { Statements } from "../../store/database.ts";
import { judgmentsOf } from "../judgments.ts";
import { Refusal } from "../problem.ts";
import { NOTHING, Hex, route, type Route } from "../route.ts";
import { ListedRun, RunArtifact, artifactSize, listRuns, readRun, type KeptRun } from "../runs.ts";
import type { ProjectName } from "../auth.ts";

const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;

const RunId = z.string().regex(/^[1-9]\d{0,17}$/, "expected the id of a run");
const OneRun = z.object({ id: RunId });
const Truth = z.enum(["true", "false"]).optional();

const RunQuery = z.object({
  search: z.string().max(200).optional(),
  status: ReceiptStatus.optional(),
  job: z.string().max(500).optional(),
  /** Superseded attempts too. */
  all: Truth,
  /** Only those that wait for a person. */
  review: Truth,
  before: RunId.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
});

const RunList = z.object({
  runs: z.array(ListedRun),
  total: z.int(),
  before: z.string().nullable(),
});
const OneRunAnswer = z.object({
  run: ListedRun,
  receipt: Receipt,
  artifacts: z.array(RunArtifact),
  judgments: z.array(Judgment),
  judgmentsTotal: z.int(),
});

/** What was delivered, as it is looked at. */
export function runRoutes(statements: Statements, blobs: BlobStore): readonly Route[] {
  const plain = { method: "GET" as const, scope: "read" as const, headers: NOTHING };

  async function kept(project: ProjectName, id: string): Promise<KeptRun> {
    const found = await readRun(statements, project, id);
    if (found !== undefined) return found;
    throw new Refusal("not_found", "this project has no such run");
  }

  return [
    route({
      ...plain,
      path: "/v1/runs",
      summary:
        "Lists runs, newest first: those that count, by words, status, job or need of review.",
      params: NOTHING,
      query: RunQuery,
      answers: { 200: { description: "A page of runs.", schema: RunList } },
      async handle({ access, query: { search, status, job, all, review, before, limit } }) {
        const filter = {
          search,
          status,
          jobId: job,
          all: all === "true",
          review: review === "true",
        };
        return Response.json(await listRuns(statements, access.project, filter, { before, limit }));
      },
    }),
    route({
      ...plain,
      path: "/v1/runs/{id}",
      summary: "A run with its receipt, its artifacts and the judgments over its evidence.",
      params: OneRun,
      query: NOTHING,
      answers: { 200: { description: "The run.", schema: OneRunAnswer } },
      refusals: ["not_found"],
      async handle({ access, params }) {
        const { run, receipt, artifacts } = await kept(access.project, params.id);
        const { judgments, total } =
          run.bundle === null
            ? { judgments: [], total: 0 }
            : await judgmentsOf(statements, access.project, run.bundle);
        return Response.json({
          run,
          receipt: parseStrictJsonBytes(receipt),
          artifacts,
          judgments,
          judgmentsTotal: total,
        });
      },
    }),
    route({
      ...plain,
      path: "/v1/runs/{id}/receipt",
      summary: "The receipt of a run, in the bytes in which it came.",
      params: OneRun,
      query: NOTHING,
      answers: { 200: { description: "The receipt.", schema: Receipt } },
      refusals: ["not_found"],
      async handle({ access, params }) {
        const { receipt } = await kept(access.project, params.id);
        return new Response(Uint8Array.from(receipt), {
          headers: { "Content-Type": "application/json" },
        });
      },
    }),
    route({
      ...plain,
      path: "/v1/artifacts/{hex}",
      summary: "An artifact, in the bytes in which it came.",
      params: Hex,
      query: NOTHING,
      answers: { 200: { description: "Its bytes.", mediaType: "application/octet-stream" } },
      refusals: ["not_found"],
      async handle({ access, params }) {
        const digest = Digest.parse(`sha256:${params.hex}`);
        const sizeBytes = await artifactSize(statements, access.project, digest);
        const content = sizeBytes === undefined ? undefined : await blobs.read(digest);
        if (content === undefined)
          throw new Refusal("not_found", "this project has no such artifact");
        return new Response(ReadableStream.from(content), {
          headers: {
            "Content-Type": "application/octet-stream",
            "Content-Length": String(sizeBytes),
            "Content-Disposition": `attachment; filename="${params.hex}"`,
          },
        });
      },
    }),
  ];
}
