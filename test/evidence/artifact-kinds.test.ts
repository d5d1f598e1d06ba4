import { assert, constantFrom, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  admissionFault,
  ARTIFACT_KINDS,
  ARTIFACT_LEVELS,
  DEFAULT_ARTIFACT_POLICY,
  levelAdmits,
  type ArtifactKind,
} from "../../src/evidence/artifact-kinds.ts";

const KINDS = Object.keys(ARTIFACT_KINDS) as ArtifactKind[]; // its own keys
const policy = { ...DEFAULT_ARTIFACT_POLICY, budgetBytes: 100, hardCapBytes: 125 };

/** The table of the design: the levels at which each kind may leave, and whether it is reserved. */
const table: readonly [ArtifactKind, string, boolean][] = [
  ["build", "metadata-only traces recordings full", true],
  ["result", "metadata-only traces recordings full", true],
  ["log", "metadata-only traces recordings full", false],
  ["transcript", "traces recordings full", true],
  ["tool_trace", "traces recordings full", true],
  ["evidence", "traces recordings full", true],
  ["trace", "traces recordings full", false],
  ["recording", "recordings full", false],
  ["other", "full", false],
];

describe("an artifact", () => {
  test("has one of the kinds of the table", () => {
    expect(table.map(([kind]) => kind).toSorted()).toEqual(KINDS.toSorted());
  });

  test.each(table)("%s leaves at %s", (kind, levels, reserved) => {
    expect(ARTIFACT_LEVELS.filter((level) => levelAdmits(level, kind)).join(" ")).toBe(levels);
    expect(ARTIFACT_KINDS[kind].reserved).toBe(reserved);
  });

  const admissions: readonly [string, string, number, number, string | null][] = [
    ["of an unknown kind", "screenshot", 1, 0, "kind_unknown"],
    ["of a name that every object has", "constructor", 1, 0, "kind_unknown"],
    ["that the level forbids", "recording", 1, 0, "level_forbids"],
    ["that meets the budget exactly", "log", 40, 60, null],
    ["over the budget", "log", 41, 60, "budget_spent"],
    ["over the budget, reserved", "evidence", 41, 60, null],
    ["that meets the cap exactly, reserved", "evidence", 25, 100, null],
    ["over the cap, reserved", "evidence", 26, 100, "hard_cap_reached"],
    ["over the cap", "log", 26, 100, "hard_cap_reached"],
  ];
  test.each(admissions)("%s: %s of %i bytes after %i", (_name, kind, sizeBytes, used, fault) => {
    expect(admissionFault({ kind, sizeBytes }, used, policy)).toBe(fault);
  });

  test("of more than an artifact may have is refused at any budget", () => {
    const small = { ...policy, maxArtifactBytes: 10 };
    expect(admissionFault({ kind: "evidence", sizeBytes: 11 }, 0, small)).toBe(
      "artifact_too_large",
    );
    expect(admissionFault({ kind: "evidence", sizeBytes: 10 }, 0, small)).toBe(null);
  });

  test("that is not admitted is not admitted after more was sent, nor when it is larger", () => {
    assert(
      property(
        constantFrom(...KINDS),
        nat(200),
        nat(200),
        nat(50),
        (kind, used, sizeBytes, more) => {
          if (admissionFault({ kind, sizeBytes }, used, policy) === null) return;
          expect(admissionFault({ kind, sizeBytes }, used + more, policy)).not.toBe(null);
          expect(admissionFault({ kind, sizeBytes: sizeBytes + more }, used, policy)).not.toBe(
            null,
          );
        },
      ),
    );
  });
});
