import { randomBytes } from "node:crypto";
import type { RunSecret } from "../evidence/salt.ts";

/** A secret for the parts of one run, made when the agent has ended: it is never in reach of the agent, and never stored. */
export function newRunSecret(): RunSecret {
  return new Uint8Array(randomBytes(32));
}
