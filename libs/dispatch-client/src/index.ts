/** A node's end of dispatch: its line to the control plane, the store of ciphertexts, and the data owner's key broker. */
export {
  parseAcquired,
  parseProofAcquired,
  parseProofHeld,
  parseRegistered,
  parseSegmentAcquired,
  parseSegmentHeld,
  parseSegmentJoined,
} from './answers.js';
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
export { connectControlPlane, type ControlPlane } from './control-plane.js';
export { beat, type NodeOffer } from './heartbeat.js';
export { openLine } from './lines.js';
export {
  BrokerWaitSeconds,
  chainSettings,
  ControlPlaneSettings,
  escrowLimits,
  greatestWindows,
  hostRoot,
  HttpUrl,
  readSettings,
  Seconds,
  watchSettings,
  type ControlPlaneAddress,
} from './node-settings.js';
export { note } from './note.js';
export { codePattern, plainText } from './refusal.js';
export { createCipherStore, type CipherStore } from './store.js';
