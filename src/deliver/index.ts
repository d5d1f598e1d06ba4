// Delivery of receipts and artifacts to a collector.
export {
  collectorClient,
  newFence,
  type Answer,
  type ClientOptions,
  type CollectorClient,
  type DeliveryTime,
  type Fence,
  type OutgoingArtifact,
  type OutgoingReceipt,
} from "./client.ts";
export { systemDeliveryTime } from "./delivery-time.ts";
export { collectorToken, collectorUrl, type Destination } from "./destination.ts";
export { drainSpool, type Drained, type DrainOptions, type Stop, type Told } from "./drain.ts";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.ts";
export {
  isSpool,
  removeSpool,
  SettledAs,
  Spool,
  type SpooledArtifact,
  type SpoolAddition,
  type SpoolEntry,
} from "./spool.ts";
