import { describe, expect, test } from "vitest";
import {
  created,
  deleted,
  directory,
  file,
  gapAt,
  link,
  modified,
  moved,
  touched,
  unknown,
} from "../worlds/observations.ts";
import { at, claims, decide, delta, denied } from "./claims.ts";

const only = (...allow: string[]): unknown => ({ kind: "changed_only", allow });
const timesOnly = { modifiedAt: "2026-11-30T18:48:15.000000000Z" } as never;

describe("changed_only", () => {
  claims([
    {
      claim: "a change in the allowed place is allowed",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [created(at("out/a"), file("a"))] }),
      want: "upheld",
    },
    {
      claim: "a deletion elsewhere is a counterexample",
      condition: only("workspace:/out/**"),
      world: delta({
        entries: [created(at("out/a"), file("a")), deleted(at("data/a"), file("a"))],
      }),
      want: "refuted",
      refs: [at("data/a")],
    },
    {
      claim: "nothing changed upholds nothing allowed",
      condition: only(),
      world: delta(),
      want: "upheld",
    },
    {
      claim: "the directory on the way to the allowed place may be made",
      condition: only("workspace:/out/b/*.md"),
      world: delta({
        entries: [
          created(at("out"), directory()),
          created(at("out/b"), directory()),
          created(at("out/b/a.md"), file("a")),
        ],
      }),
      want: "upheld",
    },
    {
      claim: "the directory on the way may not be deleted",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [deleted(at("out"), directory())] }),
      want: "refuted",
    },
    {
      claim: "a file may not stand where the way leads",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [created(at("out"), file("a"))] }),
      want: "refuted",
    },
    {
      claim: "another directory may not be made",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [created(at("other"), directory())] }),
      want: "refuted",
      refs: [at("other")],
    },
    {
      claim: "a move out of elsewhere is a change there",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [moved(at("data/a"), at("out/a"), file("a"))] }),
      want: "refuted",
      refs: [at("data/a")],
    },
    {
      claim: "a move to elsewhere is a change there",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [moved(at("out/a"), at("data/a"), file("a"))] }),
      want: "refuted",
      refs: [at("data/a")],
    },
    {
      claim: "times alone are no change",
      condition: only(),
      world: delta({
        entries: [
          touched(at("x"), file("a"), file("a", timesOnly)),
          touched(at("d"), directory(), directory(timesOnly)),
        ],
      }),
      want: "upheld",
    },
    {
      claim: "a mode is a change",
      condition: only(),
      world: delta({ entries: [touched(at("x"), file("a"), file("a", { mode: 0o755 }))] }),
      want: "refuted",
    },
    {
      claim: "an owner is a change",
      condition: only(),
      world: delta({
        entries: [touched(at("x"), file("a"), file("a", { owner: { uid: 0, gid: 1000 } }))],
      }),
      want: "refuted",
    },
    {
      claim: "a link's target is a change",
      condition: only(),
      world: delta({ entries: [modified(at("l"), link("a"), link("b"))] }),
      want: "refuted",
    },
    {
      claim: "a new fifo is a change",
      condition: only(),
      world: delta({ entries: [created(at("p"), { type: "fifo", sizeBytes: 0 })] }),
      want: "refuted",
    },
    {
      claim: "metadata that is not known before stays open",
      condition: only(),
      world: delta({ entries: [touched(at("x"), undefined, file("a"))] }),
      want: "undetermined",
      gaps: ["baseline_partial"],
    },
    {
      claim: "an unknown change elsewhere stays open",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [unknown(at("x"), ["read_limit_exceeded"], file("a"))] }),
      want: "undetermined",
      gaps: ["read_limit_exceeded"],
    },
    {
      claim: "an unknown change in the allowed place does not matter",
      condition: only("workspace:/out/**"),
      world: delta({ entries: [unknown(at("out/x"), ["read_limit_exceeded"], file("a"))] }),
      want: "upheld",
    },
    {
      claim: "a place elsewhere that was not seen keeps it open",
      condition: only("workspace:/out/**"),
      world: delta({ gaps: [denied] }),
      want: "undetermined",
      gaps: ["listing_failed"],
    },
    {
      claim: "a directory within the allowed place need not be seen",
      condition: only("workspace:/private/**", "workspace:/private"),
      world: delta({ gaps: [denied] }),
      want: "upheld",
    },
    {
      claim: "a directory of which only the first level is allowed must be seen",
      condition: only("workspace:/*"),
      world: delta({ gaps: [denied] }),
      want: "undetermined",
    },
    {
      claim: "a file in the allowed place need not be read",
      condition: only("workspace:/*.log"),
      world: delta({ gaps: [gapAt("read_failed", at("a.log"))] }),
      want: "upheld",
    },
    {
      claim: "a gap that stands for several places matters",
      condition: only("workspace:/*.log"),
      world: delta({ gaps: [{ ...gapAt("read_failed", at("a.log")), count: 2 }] }),
      want: "undetermined",
    },
    {
      claim: "a counterexample stands, whatever was not seen",
      condition: only(),
      world: delta({ gaps: [denied], entries: [created(at("x"), file("a"))] }),
      want: "refuted",
    },
    {
      claim: "a window tells nothing of what is missing",
      condition: only("workspace:/**"),
      world: delta({ method: "window" }),
      want: "undetermined",
      gaps: ["baseline_missing"],
    },
    {
      claim: "noise is a change unless it is asked to be ignored",
      condition: only(),
      world: delta({ entries: [modified(at(".git/index"), file("a"), file("b"))] }),
      want: "refuted",
    },
    {
      claim: "noise is ignored by name and counted",
      condition: only("@noise"),
      world: delta({
        entries: [
          modified(at(".git/index"), file("a"), file("b")),
          created(at(".git/objects/ab"), directory()),
          created(at("src/__pycache__/a.pyc"), file("a")),
        ],
      }),
      want: "upheld",
      says: "Ignored as noise: git 2, python bytecode 1",
    },
    {
      claim: "a hook of git is no noise",
      condition: only("@noise"),
      world: delta({ entries: [created(at(".git/hooks/post-checkout"), file("a"))] }),
      want: "refuted",
    },
    {
      claim: "noise makes no way for directories",
      condition: only("@noise"),
      world: delta({ entries: [created(at("other"), directory())] }),
      want: "refuted",
    },
    {
      claim: "it is about every root",
      condition: only("workspace:/**"),
      world: [
        delta({ entries: [created(at("x"), file("a"))] }),
        delta({ uri: "data:/**", entries: [created("data:/x", file("a"))] }),
      ],
      want: "refuted",
      refs: ["data:/x"],
    },
    {
      claim: "a pattern allows in its own root only",
      condition: only("workspace:/**", "data:/x"),
      world: [
        delta({ entries: [created(at("y"), file("a"))] }),
        delta({ uri: "data:/**", entries: [created("data:/x", file("a"))] }),
      ],
      want: "upheld",
    },
  ]);
});

test("the noise of a large delta is told in little time", () => {
  const entries = Array.from({ length: 20_000 }, (_, index) =>
    created(at(`node_modules/pkg-${index}/lib/deep/index.js`), directory()),
  );
  const world = delta({ entries });
  const started = performance.now();
  const { verdict } = decide({ claim: "", condition: only("@noise"), world, want: "refuted" });
  expect(verdict).toMatchObject({ value: "refuted", total: 20_000 });
  expect(performance.now() - started).toBeLessThan(8_000);
});
