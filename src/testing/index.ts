// Contract suites for those who add a surface.
export {
  sourceContract,
  type ContractCheck,
  type SourceContractOptions,
} from "./source-contract.ts";
export { type ContractSource, type ContractWorld } from "./contract-world.ts";
