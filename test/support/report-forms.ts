import { readFileSync } from "node:fs";
import { validateXML } from "xmllint-wasm";
import { z } from "zod";

const JUNIT = readFileSync(new URL("junit.xsd", import.meta.url), "utf8");

/** What a validating parser finds wrong with a JUnit file; empty where nothing is. */
export async function junitFaults(xml: string): Promise<readonly string[]> {
  const { errors } = await validateXML({ xml, schema: JUNIT });
  return errors.map(({ message }) => message);
}

const text = z.string().min(1);
const level = z.enum(["none", "note", "warning", "error"]);
const message = z.strictObject({ text });
const bag = z.record(z.string(), z.unknown());

const Result = z.strictObject({
  ruleId: text,
  ruleIndex: z.int().min(-1),
  kind: z.enum(["notApplicable", "pass", "fail", "review", "open", "informational"]),
  level,
  message,
  locations: z.array(
    z.strictObject({
      physicalLocation: z
        .strictObject({
          artifactLocation: z.strictObject({
            // RFC 3986, relative: no scheme, no leading slash.
            uri: z
              .string()
              .regex(/^(?:[\w.~!*'()-]|%[0-9A-F]{2})+(?:\/(?:[\w.~!*'()-]|%[0-9A-F]{2})+)*$/),
            uriBaseId: text,
          }),
          region: z.strictObject({ startLine: z.int().min(1) }),
        })
        .optional(),
      logicalLocations: z.array(z.strictObject({ fullyQualifiedName: text, kind: text })),
    }),
  ),
  properties: bag,
});

/** The part of SARIF 2.1.0 that is written, field by field, with the rules that the standard adds to its schema. */
export const SarifLog = z
  .strictObject({
    $schema: z.url(),
    version: z.literal("2.1.0"),
    runs: z.array(
      z.strictObject({
        tool: z.strictObject({
          driver: z.strictObject({
            name: text,
            semanticVersion: z.string().regex(/^\d+\.\d+\.\d+/),
            rules: z.array(
              z.strictObject({
                id: text,
                name: text,
                shortDescription: message,
                defaultConfiguration: z.strictObject({ level }),
              }),
            ),
          }),
        }),
        columnKind: z.enum(["utf16CodeUnits", "unicodeCodePoints"]),
        invocations: z.array(
          z.strictObject({
            executionSuccessful: z.boolean(),
            toolExecutionNotifications: z.array(
              z.strictObject({ level, message, descriptor: z.strictObject({ id: text }) }),
            ),
          }),
        ),
        results: z.array(Result),
        properties: bag,
      }),
    ),
  })
  .superRefine(({ runs }, context) => {
    for (const { results, tool } of runs) {
      const ids = tool.driver.rules.map(({ id }) => id);
      if (new Set(ids).size !== ids.length) context.addIssue("two rules have one id");
      for (const { kind, level: given, ruleId, ruleIndex } of results) {
        if ((kind === "fail") === (given === "none"))
          context.addIssue(`${kind} has level ${given}`);
        if (ids[ruleIndex] !== ruleId) context.addIssue(`${ruleId} is not rule ${ruleIndex}`);
      }
    }
  });
