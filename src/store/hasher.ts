import { createHash } from "node:crypto";
import { Digest } from "../core/ids.ts";
import type { Hasher } from "../evidence/hasher.ts";

/** SHA-256 by Node's own crypto. */
export const nodeHasher: Hasher = {
  sha256: (bytes) => Digest.parse(`sha256:${createHash("sha256").update(bytes).digest("hex")}`),
  begin: () => {
    const running = createHash("sha256");
    return {
      update: (bytes) => void running.update(bytes),
      digest: () => Digest.parse(`sha256:${running.digest("hex")}`),
    };
  },
};
