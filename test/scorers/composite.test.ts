import { describe, test, expect } from "vitest";
import { created, file, observe } from "../worlds/observations.ts";
import { anywhere, at, claims, decide, x } from "./claims.ts";

describe("composites and what is judged", () => {
  const yes = anywhere;
  const no = { ...anywhere, matcher: { kind: "contains", value: "other" } };
  const open = { kind: "objective_met" };
  const world = observe({ entries: [created(at("x"), file("key"))] });
  claims([
    {
      claim: "what is for a judge is open",
      condition: open,
      world,
      want: "undetermined",
      gaps: ["not_judged"],
    },
    {
      claim: "all: one refuted settles it",
      condition: { kind: "all", of: [yes, open, no] },
      world,
      want: "refuted",
    },
    {
      claim: "all: open otherwise",
      condition: { kind: "all", of: [yes, open] },
      world,
      want: "undetermined",
    },
    {
      claim: "any: one upheld settles it",
      condition: { kind: "any", of: [no, open, yes] },
      world,
      want: "upheld",
    },
    {
      claim: "any: open otherwise",
      condition: { kind: "any", of: [no, open] },
      world,
      want: "undetermined",
    },
    {
      claim: "not swaps",
      condition: { kind: "not", of: yes },
      world,
      want: "refuted",
      refs: [at("x")],
    },
    {
      claim: "not keeps what is open",
      condition: { kind: "not", of: open },
      world,
      want: "undetermined",
    },
    {
      claim: "majority: decided where the open one cannot change it",
      condition: { kind: "majority", of: [yes, yes, open] },
      world,
      want: "upheld",
    },
    {
      claim: "majority: open where it can",
      condition: { kind: "majority", of: [yes, no, open] },
      world,
      want: "undetermined",
    },
    {
      claim: "the rationale tells of each part",
      condition: { kind: "all", of: [yes, no] },
      world,
      want: "refuted",
      says: "2. refuted: Every location was accounted for, and none holds it by the run's doing. content_written",
    },
  ]);
});

describe("the rationale", () => {
  test("names locator, criterion, method, and what lay outside of the scope, never the text", () => {
    const secret = { kind: "contains", value: "hunter2-secret" };
    const { rationale, method } = decide({
      claim: "",
      condition: { ...anywhere, matcher: secret },
      world: observe({ entries: [created(at("x"), file("hunter2-secret"))], outside: 3 }),
      want: "upheld",
    });
    expect(rationale).toBe(
      "Written by the run at 1 location. " +
        "content_written at workspace:/** (glob): contains a text (case sensitive, line endings any, unicode nfc). Attribution: baseline. Looked at: 1 of 1 locations, 7 unchanged, 3 outside the scope.",
    );
    expect(method).toBe("baseline");
  });

  test("begins with the reason, whatever the name of the place holds", () => {
    const { rationale } = decide({
      claim: "",
      condition: { ...x, uri: at("v1. final. txt") },
      world: observe({ uri: at("v1. final. txt"), match: "exact" }),
      want: "refuted",
    });
    const [first] = rationale.split(". ");
    expect(first).toBe("Every location was accounted for, and none holds it by the run's doing");
  });
});
