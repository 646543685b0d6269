/** What host agent and prover worker share: the node without what it computes. */
export {
  parseAcquired,
  parseProofAcquired,
  parseProofHeld,
  parseSegmentAcquired,
  parseSegmentHeld,
  parseSegmentJoined,
} from './answers.js';
export { bringProofs } from './bring-proofs.js';
export {
  createBrokerClient,
  publicPart,
  type AttestorAppraisal,
  type BrokerClient,
  type BrokerRelease,
  type BrokerRenewal,
  type ProverRelease,
} from './broker-client.js';
export { brokerPatience, isOfBroker, type BrokerPatience, type Clock } from './broker-patience.js';
export { collectAll } from './collector.js';
export { type ControlPlane } from './control-plane.js';
export { detailOf, failureOf } from './failure.js';
export { createHeldLeases, keepBeating, type HeldLeases } from './held-leases.js';
export { keptWitnessBytesMax } from './limits.js';
export {
  AccountText,
  chainSettings,
  escrowLimits,
  greatestWindows,
  HttpUrl,
  loadNode,
  nodeSettings,
  Seconds,
  type Loaded,
} from './node-settings.js';
export { note } from './note.js';
export { checkOfRun, fetchProof, type StakedRun } from './others-proof.js';
export { machine, offerOf, openNode, register } from './open-node.js';
export { plainText } from './refusal.js';
export { runNode, untilEnded, type RunningNode } from './run-node.js';
export { type ProofFiles } from './step-seal.js';
export { type BlobSource, type CipherStore } from './store.js';
export { syncFolder, writeWhole } from './write-whole.js';
