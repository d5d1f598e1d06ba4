import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Workplace } from "../cli/upheld.ts";
import { openedBundle, redactionsOf } from "../support/opened-bundle.ts";

const PERFORM = join(import.meta.dirname, "../worlds/perform-steps.mjs");

interface Case {
  readonly id: string;
  readonly kind: string;
  readonly secrets?: readonly string[];
  readonly input: {
    readonly text?: string;
    readonly json?: string;
    readonly repeat_before?: readonly [string, number];
    readonly keep_bytes?: number;
  };
  readonly want: {
    readonly must_occur?: readonly string[];
    readonly must_not_occur?: readonly string[];
    readonly exact?: string;
    readonly redactions?: number;
    readonly redactions_min?: number;
    readonly still_json?: boolean;
    readonly result_bytes_max?: number;
  };
}

const CASES: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "redaction.json"), "utf8"),
);

describe("the cases of redaction, through the command line", () => {
  for (const { id, kind, input, secrets = [], want } of CASES)
    test(`${id}: ${kind}`, { timeout: 120_000 }, async () => {
      using place = new Workplace();
      const [filler = "", times = 0] = input.repeat_before ?? [];
      const text = filler.repeat(times) + (input.text ?? input.json ?? "");
      const steps = place.write("steps.json", JSON.stringify([{ write: "note.txt", text }]));
      const limit = input.keep_bytes === undefined ? [] : [`maxContentBytes=${input.keep_bytes}`];
      const sealed = join(place.path, "run.upheld");
      const done = await place.upheld(
        [
          "run",
          "--json",
          "--save",
          sealed,
          ...limit.flatMap((each) => ["--limit", each, "--limit", `baseline.${each}`]),
          ...secrets.flatMap((_, index) => ["--secret", `env:SECRET_${index}`]),
          "--",
          process.execPath,
          PERFORM,
          steps,
        ],
        Object.fromEntries(secrets.map((secret, index) => [`SECRET_${index}`, secret])),
      );
      expect(done.code, done.stderr).toBe(0);
      const { statement, record, parts, bytes } = await openedBundle(sealed);
      const everything = [done.stdout, done.stderr, bytes, ...parts.values()].join("\n");
      for (const part of want.must_not_occur ?? []) {
        expect(everything).not.toContain(part);
        expect(everything).not.toContain(JSON.stringify(part).slice(1, -1));
      }
      const [payload] = record.deltas.map((delta) => delta.payload);
      const [entry] = payload?.kind === "surface" ? payload.entries : [];
      const kept = entry?.now?.content?.value ?? "";
      settle(want, kept, redactionsOf(statement));
    });
});

function settle(want: Case["want"], kept: string, removed: number): void {
  for (const part of want.must_occur ?? []) expect(kept).toContain(part);
  if (want.exact !== undefined) expect(kept).toBe(want.exact);
  if (want.still_json === true) expect(JSON.parse(kept)).toBeTypeOf("object");
  if (want.result_bytes_max !== undefined)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(want.result_bytes_max);
  expect(removed).toBeGreaterThanOrEqual(want.redactions_min ?? 0);
  if (want.redactions !== undefined) expect(removed).toBe(want.redactions);
}
