/** The only door of libs/settlement: the escrow on an Ethereum chain. */
export { publishEstimate } from './publish-estimate.js';
export { startAnvil, testMnemonic, type Anvil } from './anvil.js';
export { type ClientOptions, type TxReceipt } from './calls.js';
export { addressBytes, connect, latestBlock, type Hex } from './chain.js';
export { ChainClock } from './chain-clock.js';
export { chainKindOf, chainKinds, chainSettings, revealMarginOf, windowOf } from './chain-kinds.js';
export { type ChainKind, type ChainSettings } from './chain-kinds.js';
export { SettlementClient, type CommittedRun } from './client.js';
export { errorAbi, settlementAbi } from './contracts.js';
export { deploy, setupOf, type DeployOptions } from './deploy.js';
export { contractNames, DeploymentJson, parseDeployment, parseExpectation, roleNames } from './deployment.js';
export { type Deployment, type Setup } from './deployment.js';
export { type DutyView } from './duties.js';
export {
  endsUnsealed,
  exitOf,
  finalFrom,
  hasDelivery,
  isLastCall,
  isLastMoment,
  proofsFrom,
  type ExitCall,
} from './exits.js';
export { placesOf } from './graph.js';
export { checkRandao } from './randao.js';
export { roleCall, sendRoleCall, type RoleAction } from './roles.js';
export { type SignedRelease } from './signed.js';
export { simulatedIssuer, type SnpClient } from './snp.js';
export {
  parseChainSnpPolicy,
  snpPolicyId,
  snpPolicyOf,
  type ChainSnpPolicy,
  type SnpPolicyPlan,
} from './snp-policy.js';
export { chainFailure } from './failure.js';
export { readEvent, type EscrowEvent } from './events.js';
export { anchorCheckpoint, anchorOrigin, deployLogAnchors, newestLogAnchor, settledNonce } from './log-anchors.js';
export { readLogAnchors, type LogAnchor } from './log-anchors.js';
export { isEnded, isPaidFor, jobStates, type JobState, type JobView } from './job-view.js';
export { openEscrowReader, type EscrowReader } from './reader.js';
export { openChainReader, type BlockRef, type ChainReader } from './chain-reader.js';
export { Indexer, MemoryEventStore, type Advance, type EventStore } from './indexer.js';
export { deploymentStatus } from './status.js';
export { inTurn } from './turn.js';
export { projectJob, Projection, type ProjectedJob } from './projection.js';
export { sampleOf } from './sample.js';
export { verifyDeployment } from './verify-deployment.js';
export { registerGroth16Key } from './groth16-key.js';
export { encodeGroth16Seal, groth16SealOf, type Groth16SealFields } from './groth16-seal.js';
export { splitSelector, zkSelector } from './zk-selector.js';
export { stepSealOf, zkSealOf } from './zk-seal.js';
export { takesPlan } from './takes-plan.js';
export { type SplitSeal, type StepSeal } from './split-proofs.js';
