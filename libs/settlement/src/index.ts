/** The only door of libs/settlement: the escrow on an Ethereum chain. */
export { startAnvil, testMnemonic, type Anvil, type AnvilOptions } from './anvil.js';
export { type ClientOptions, type TxReceipt } from './calls.js';
export { addressBytes, checksummed, connect, hex, termsStruct, type Hex } from './chain.js';
export { SettlementClient, type CommittedRun, type ReleaseAuthority } from './client.js';
export { errorAbi, settlementAbi } from './contracts.js';
export { deploy, type DeployOptions } from './deploy.js';
export { contractNames, DeploymentJson, parseDeployment, type ContractName, type Deployment } from './deployment.js';
export { type DutyClient, type DutyView } from './duties.js';
export { type ExtensionOptions } from './extensions.js';
export { exitOf, finalFrom, hasDelivery, type Exit, type ExitCall } from './exits.js';
export { chainFailure } from './failure.js';
export { readEvent, type EscrowEvent } from './events.js';
export { jobStates, type JobState, type JobView } from './job-view.js';
export { openEscrowReader, type EscrowReader } from './reader.js';
export { openChainReader, type BlockRef, type ChainReader, type ChainReaderOptions } from './chain-reader.js';
export { Indexer, MemoryEventStore, type Advance, type EventStore, type IndexerOptions } from './indexer.js';
export { deploymentStatus, type DeploymentStatus } from './status.js';
export { inTurn } from './turn.js';
export {
  projectJob,
  Projection,
  type ProjectedDuty,
  type ProjectedEvent,
  type ProjectedJob,
  type ProjectedPayment,
} from './projection.js';
export { sampleOf } from './sample.js';
export { verifyDeployment, type DeploymentFinding } from './verify-deployment.js';
export { registerGroth16Key, type RegisteredKey } from './groth16-key.js';
export { encodeGroth16Seal, groth16SealOf, type Groth16SealFields } from './groth16-seal.js';
export { zkSelector } from './zk-selector.js';
export { encodeZkSeal, zkSealOf, type ProvedSegment, type ZkSealFields } from './zk-seal.js';
