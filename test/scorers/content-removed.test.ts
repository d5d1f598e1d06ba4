import { describe } from "vitest";
import {
  created,
  deleted,
  directory,
  file,
  modified,
  moved,
  observe,
  unknown,
} from "../worlds/observations.ts";
import { at, claims, delta, denied } from "./claims.ts";

const removedX = { kind: "content_removed", uri: "workspace:/x" };
const removedAny = { kind: "content_removed", uri: "workspace:/**", match: "glob" };

describe("content_removed", () => {
  claims([
    {
      claim: "a deleted file is a witness",
      condition: removedAny,
      world: delta({ entries: [deleted(at("x"), file("a"))] }),
      want: "upheld",
      refs: [at("x")],
    },
    {
      claim: "a moved file is gone from where it was",
      condition: removedX,
      world: delta({ entries: [moved(at("x"), at("y"), file("a"))] }),
      want: "upheld",
      refs: [at("x")],
    },
    {
      claim: "a moved file is not gone from where it is",
      condition: { ...removedX, uri: "workspace:/y" },
      world: delta({ entries: [moved(at("x"), at("y"), file("a"))] }),
      want: "refuted",
    },
    {
      claim: "a deleted directory alone is none under a pattern",
      condition: removedAny,
      world: delta({ entries: [deleted(at("d"), directory())] }),
      want: "refuted",
    },
    {
      claim: "a deleted directory is one where it is named",
      condition: { ...removedX, uri: "workspace:/d" },
      world: observe({
        uri: "workspace:/d",
        extent: "delta",
        entries: [deleted(at("d"), directory())],
      }),
      want: "upheld",
    },
    {
      claim: "a file that a directory replaced is gone",
      condition: removedX,
      world: observe({
        uri: "workspace:/x",
        extent: "delta",
        entries: [modified(at("x"), file("a"), directory())],
      }),
      want: "upheld",
    },
    {
      claim: "a file that was emptied is not gone",
      condition: removedAny,
      world: delta({ entries: [modified(at("x"), file("a"), file(""))] }),
      want: "refuted",
    },
    {
      claim: "nothing deleted refutes",
      condition: removedAny,
      world: delta({ entries: [created(at("x"), file("a"))] }),
      want: "refuted",
    },
    {
      claim: "without a world before, what is missing cannot be seen",
      condition: removedAny,
      world: delta({ method: "window" }),
      want: "undetermined",
      gaps: ["baseline_missing"],
    },
    {
      claim: "a place that was not seen keeps it open",
      condition: removedAny,
      world: delta({ gaps: [denied] }),
      want: "undetermined",
      gaps: ["listing_failed"],
    },
    {
      claim: "a location that is there is not gone, whatever happened to it",
      condition: removedX,
      world: observe({
        uri: "workspace:/x",
        extent: "delta",
        entries: [unknown(at("x"), ["baseline_partial"], file("a"))],
      }),
      want: "refuted",
    },
  ]);
});
