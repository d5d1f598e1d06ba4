import * as fc from "fast-check";
import { expect, test } from "vitest";
import { foldTree, type FoldedTree, type Placed } from "../../src/report/fold-tree.ts";

const placed = (...paths: readonly string[]): readonly Placed[] =>
  paths.map((path) => ({ segments: path.split("/") }));

const many = (folder: string, files: number): readonly string[] =>
  Array.from({ length: files }, (_, at) => `${folder}/${at}`);

function linesOf({ lines, left }: FoldedTree<Placed>): readonly string[] {
  const shown = lines.map((line) =>
    line.kind === "item"
      ? line.item.segments.join("/")
      : `${line.segments.join("/")}/ ${line.items.length}`,
  );
  return left.length === 0 ? shown : [...shown, `and ${left.length}`];
}

test.each([
  ["what fits is shown as it is", ["b", "a/x", "a/y"], 5, ["a/x", "a/y", "b"]],
  [
    "a large directory stays folded",
    ["src/a", "src/b", ...many("lib", 50)],
    5,
    ["lib/ 50", "src/a", "src/b"],
  ],
  ["a chain of directories is one line", many("a/b/c", 50), 5, ["a/b/c/ 50"]],
  ["a directory stands before what is in it", ["a", "a/x"], 5, ["a", "a/x"]],
  ["what no line stands for is counted", ["a", "b", "c", "d"], 2, ["a", "b", "and 2"]],
  ["nothing", [], 5, []],
])("%s", (_, paths, room, wanted) => {
  expect(linesOf(foldTree(placed(...paths), room))).toEqual(wanted);
});

const isGits = ({ segments }: Placed): boolean => segments.includes(".git");

test("a directory stays folded while it holds nothing else than what is dull", () => {
  const books = [".git/index", ".git/refs/a", ".git/refs/b"];
  expect(linesOf(foldTree(placed("a", ...books), 20, isGits))).toEqual([".git/ 3", "a"]);
  const other = (item: Placed): boolean => isGits(item) && !item.segments.includes("hooks");
  expect(linesOf(foldTree(placed("a", ".git/hooks/x", ...books), 20, other))).toEqual([
    ".git/hooks/x",
    ".git/index",
    ".git/refs/ 2",
    "a",
  ]);
});

test("every item stands on one line or is counted, and the room is kept", () => {
  const path = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.uniqueArray(path, { selector: String }),
      fc.integer({ min: 1, max: 9 }),
      (paths, room) => {
        const { lines, left } = foldTree(
          paths.map((segments) => ({ segments })),
          room,
        );
        const counted = lines.reduce(
          (sum, line) => sum + (line.kind === "item" ? 1 : line.items.length),
          0,
        );
        expect(lines.length).toBeLessThanOrEqual(room);
        expect(counted + left.length).toBe(paths.length);
      },
    ),
  );
});

test("10,000 directories in each other are folded at once", () => {
  const deep = Array.from({ length: 10_000 }, () => "d");
  const items = [{ segments: deep }, { segments: [...deep, "f"] }];
  expect(foldTree(items, 20).lines.length).toBe(2);
});
