import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { sourceContract, type ContractWorld } from "../../../src/testing/index.ts";
import { LocalFileSurfaceSource } from "../../../src/sources/local-files/source.ts";
import { treeWorld } from "../../worlds/tree.ts";

function localWorld(): ContractWorld {
  const world = treeWorld();
  return {
    root: "workspace",
    surface: "file",
    limits: ["maxFiles", "maxListedEntries", "maxReadBytes", "maxContentBytes"],
    source: (limits = {}) =>
      new LocalFileSurfaceSource({ name: "workspace", directory: world.root }, { limits }),
    unreachable: () =>
      new LocalFileSurfaceSource({ name: "workspace", directory: join(world.base, "none") }),
    put: async (path, text) => {
      world.write(path, text);
    },
    remove: async (path) => {
      rmSync(world.at(path));
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

describe("the source of local files keeps the contract", () => {
  test.for(sourceContract({ make: localWorld }).map((check) => [check.name, check] as const))(
    "%s",
    { timeout: 60_000 },
    async ([, { run, skip }], context) => {
      context.skip(skip !== undefined, skip);
      await run();
    },
  );
});
