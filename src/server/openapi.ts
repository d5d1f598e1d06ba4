import { z } from "zod";
import { PROBLEMS, Problem, type ProblemCode } from "./problem.ts";
import type { Route, RouteAnswer } from "./route.ts";

/** What any route may answer before or beside its own work. */
const COMMON: readonly ProblemCode[] = [
  "request_invalid",
  "rate_limited",
  "internal",
  "unavailable",
];
const OF_TOKENS: readonly ProblemCode[] = ["unauthorized", "forbidden"];

/** The OpenAPI 3.1 document of the routes: written from what the application runs, so neither can miss the other. */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const each of routes) {
    const path = (paths[each.path] ??= {});
    path[each.method.toLowerCase()] = operationOf(each);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "upheld collector",
      version,
      description:
        "Receives artifacts, receipts and judgments of agent runs, and answers what was decided.",
    },
    paths,
    components: {
      schemas: { Problem: schemaOf(Problem) },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function operationOf(each: Route): object {
  const refusals: readonly ProblemCode[] = [
    ...COMMON,
    ...(each.scope === "anyone" ? [] : OF_TOKENS),
    ...(each.refusals ?? []),
    ...(each.body === undefined ? [] : [each.body.beyond ?? "too_large"]),
  ];
  return {
    summary: each.summary,
    ...(each.scope === "anyone" ? {} : { security: [{ token: [each.scope] }] }),
    parameters: [
      ...parametersOf(each.params, "path"),
      ...parametersOf(each.query, "query"),
      ...parametersOf(each.headers, "header"),
    ],
    ...(each.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              [each.body.mediaType]:
                each.body.schema === undefined ? {} : { schema: schemaOf(each.body.schema) },
            },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(each.answers).map(([status, answer]) => [status, answerOf(answer)]),
      ),
      ...refusalsOf(refusals),
    },
  };
}

function answerOf({ description, mediaType = "application/json", schema }: RouteAnswer): object {
  if (schema === undefined && mediaType === "application/json") return { description };
  return {
    description,
    content: { [mediaType]: schema === undefined ? {} : { schema: schemaOf(schema) } },
  };
}

/** Refusals by status; the codes of one status stand together. */
function refusalsOf(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = new Map<number, string[]>();
  for (const code of new Set(codes)) {
    const status = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      String(status),
      {
        description: of.join(", "),
        content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}

function parametersOf(schema: z.ZodType, where: "path" | "query" | "header"): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(schema);
  return Object.entries(properties).map(([name, of]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    schema: of,
  }));
}

function schemaOf(schema: z.ZodType): {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
} {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}
