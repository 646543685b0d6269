/** The only door of libs/settlement: the escrow on an Ethereum chain. */
export { startAnvil, testMnemonic, type Anvil, type AnvilOptions } from './anvil.js';
export { addressBytes, checksummed, connect, hex, termsStruct, type Hex } from './chain.js';
export {
  SettlementClient,
  jobStates,
  type ClientOptions,
  type CommittedRun,
  type JobState,
  type JobView,
  type ReleaseAuthority,
  type TxReceipt,
} from './client.js';
export { errorAbi, settlementAbi } from './contracts.js';
export { deploy, type DeployOptions, type Deployment } from './deploy.js';
export { chainFailure } from './failure.js';
export { readEvent, type EscrowEvent } from './events.js';
export { openEscrowReader, type EscrowReader } from './reader.js';
export { Indexer, MemoryEventStore, type BlockRef, type EventStore, type IndexerOptions } from './indexer.js';
export { inTurn } from './turn.js';
export { Projection, type ProjectedJob } from './projection.js';
