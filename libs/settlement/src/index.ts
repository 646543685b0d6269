/** The only door of libs/settlement: the escrow on an Ethereum chain. */
export { publishEstimate } from './publish-estimate.js';
export { startAnvil, testMnemonic, type Anvil, type AnvilOptions } from './anvil.js';
export { type Block, type ClientOptions, type TxReceipt } from './calls.js';
export { addressBytes, checksummed, connect, termsStruct, type Hex } from './chain.js';
export { chainKindOf, chainKinds, chainSettings, revealMarginOf, windowOf } from './chain-kinds.js';
export { type ChainKind, type ChainSettings } from './chain-kinds.js';
export { SettlementClient, type CommittedEvent, type CommittedRun } from './client.js';
export { errorAbi, settlementAbi } from './contracts.js';
export { type DeliveryClient, type SignedAvailability } from './delivery.js';
export { deploy, setupOf, type DeployOptions } from './deploy.js';
export { contractNames, DeploymentJson, parseDeployment, parseExpectation, roleNames } from './deployment.js';
export { type ContractName, type Deployment, type Expectation, type RoleName, type Setup } from './deployment.js';
export { type DutyClient, type DutyView } from './duties.js';
export { endsUnsealed, exitOf, finalFrom, hasDelivery, type Exit, type ExitCall } from './exits.js';
export { placesOf } from './graph.js';
export { type KeysClient, type KeyStanding } from './keys.js';
export { roleCall, sendRoleCall, type RoleAction, type RoleCall } from './roles.js';
export { type SignatureOf, type SignedAppraisal, type SignedRelease } from './signed.js';
export { simulatedIssuer, type SnpClient, type SnpRegistrationView } from './snp.js';
export {
  parseChainSnpPolicy,
  snpPolicyId,
  snpPolicyOf,
  type ChainSnpPolicy,
  type SnpPolicyPlan,
} from './snp-policy.js';
export { chainFailure } from './failure.js';
export { readEvent, type EscrowEvent } from './events.js';
export { jobStates, type JobState, type JobView } from './job-view.js';
export { openEscrowReader, type CommittedDelivery, type EscrowReader } from './reader.js';
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
