import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryTime } from "./client.ts";

/** The machine's own time and chance. */
export const systemDeliveryTime: DeliveryTime = {
  now: () => Date.now(),
  random: () => Math.random(),
  async sleep(milliseconds, signal) {
    try {
      await wait(milliseconds, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
