// Contract suites for those who add a surface or a collector.
export {
  sourceContract,
  type ContractCheck,
  type SourceContractOptions,
} from "./source-contract.ts";
export { type ContractSource, type ContractWorld } from "./contract-world.ts";
export { collectorContract, type CollectorContractOptions } from "./collector/contract.ts";
export { type CollectorFault } from "./collector/fault.ts";
export { type ContractCollector } from "./collector/probe.ts";
export {
  startCollectorStandIn,
  type CollectorEvent,
  type CollectorStandIn,
  type StandInOptions,
} from "./collector/stand-in.ts";
