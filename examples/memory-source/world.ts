import type { ContractWorld } from "upheld/testing";
import { MemoryBucket } from "./bucket.ts";
import { MemorySource } from "./source.ts";

/** A world of the contract suite over a bucket in memory. */
export function memoryWorld(): ContractWorld {
  const bucket = new MemoryBucket();
  return {
    root: "store",
    surface: "bucket",
    limits: ["maxFiles", "maxContentBytes"],
    source: (limits = {}) => new MemorySource("store", bucket, limits),
    unreachable: () => {
      const gone = new MemoryBucket();
      gone.isReachable = false;
      return new MemorySource("store", gone);
    },
    put: async (path, text) => {
      bucket.put(path, text);
    },
    remove: async (path) => {
      bucket.delete(path);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
