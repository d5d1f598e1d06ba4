// @ts-check
// Writes docs/spec/schemas from the schemas of the built package:  node scripts/write-schemas.mjs
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as z from "zod";
import { buildIfStale } from "./build.mjs";
import { inProject, runToEnd, toolScript } from "./project.mjs";

/**
 * @typedef {import("zod").z.ZodType} Schema
 * @typedef {{ ExpectationFile: Schema, ScenarioFile: Schema, Condition: Schema, Matcher: Schema, Observation: Schema, Score: Schema, Run: Schema, Gap: Schema, Verdict: Schema, Identifier: Schema, Receipt: Schema, HarnessResult: Schema, Judgment: Schema, JudgeAnswer: Schema, JudgeIdentity: Schema }} Schemas
 */

const documents = /** @type {const} */ ([
  [
    "expectation-file",
    "ExpectationFile",
    "What a user writes in claims.yaml: sub-goals, each with a condition or a text to judge.",
  ],
  ["scenario", "ScenarioFile", "What a user writes in scenarios/NAME/scenario.yaml."],
  [
    "observation",
    "Observation",
    "What a source saw. Beyond this form: it is complete exactly when it has no gap, locations are unique, and each is one that the scorable names.",
  ],
  ["score", "Score", "A verdict, by whom it was reached, over which evidence, and why."],
  ["run", "Run", "One attempt of an agent."],
  [
    "receipt",
    "Receipt",
    "What came of one attempt at one scenario. Beyond this form: the status follows from the sub-goals, and the digest is that of the canonical object without it.",
  ],
  [
    "harness-result",
    "HarnessResult",
    "A result as another harness writes it, for import and export.",
  ],
  [
    "judgment",
    "Judgment",
    "What one judge came to about one claim over one bundle: a line beside it.",
  ],
  [
    "judge-answer",
    "JudgeAnswer",
    "What a judge answers to a question: one verdict for exactly each claim.",
  ],
]);

const shared = /** @type {const} */ ([
  "Condition",
  "Matcher",
  "Gap",
  "Verdict",
  "Identifier",
  "JudgeIdentity",
]);

/**
 * The files, by their path in the project, with their text. Writers fill in defaults; readers leave unknown fields out.
 * @param {Schemas} schemas
 */
export function schemaFiles(schemas) {
  /** @type {import("zod").z.core.$ZodRegistry<{ id: string }>} */
  const names = z.registry();
  for (const name of shared) names.add(schemas[name], { id: name });
  return documents.map(([file, name, description]) => {
    const { $schema, ...body } = z.toJSONSchema(schemas[name], {
      io: "input",
      metadata: names,
      // "Read only" means something else there than that our values are frozen.
      override: ({ jsonSchema }) => {
        delete jsonSchema.readOnly;
      },
    });
    const document = {
      $schema,
      $id: `urn:upheld:schema:${file}:v1`,
      title: name,
      description,
      ...body,
    };
    return {
      path: `docs/spec/schemas/${file}.json`,
      text: `${JSON.stringify(document, undefined, 2)}\n`,
    };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildIfStale();
  const files = [
    "core/expectation",
    "core/condition",
    "suite/scenario",
    "core/matcher",
    "core/observation",
    "core/score",
    "core/run",
    "core/gap",
    "core/verdict",
    "core/identifier",
    "evidence/receipt",
    "evidence/harness-result",
    "judge/judgment",
    "judge/answer",
  ];
  const modules = await Promise.all(files.map((name) => importBuilt(`${name}.js`)));
  for (const { path, text } of schemaFiles(Object.assign({}, ...modules))) {
    mkdirSync(dirname(inProject(path)), { recursive: true });
    writeFileSync(inProject(path), text);
    process.stdout.write(`${path}\n`);
  }
  await runToEnd(process.execPath, [toolScript("oxfmt"), inProject("docs/spec/schemas")]);
}

/** @param {string} path */
function importBuilt(path) {
  return import(pathToFileURL(inProject(`dist/${path}`)).href);
}
