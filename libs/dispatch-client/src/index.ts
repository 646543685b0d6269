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
  type BrokerClient,
  type BrokerAppraisal,
  type BrokerRelease,
  type ProverRelease,
} from './broker-client.js';
export { connectControlPlane, type ControlPlane } from './control-plane.js';
export type { DispatchSettings } from './dispatch-settings.js';
export { beat, type NodeOffer } from './heartbeat.js';
export { openLine } from './lines.js';
export {
  chainSettings,
  ControlPlaneSettings,
  escrowLimits,
  HttpUrl,
  readSettings,
  Seconds,
  type ControlPlaneAddress,
} from './node-settings.js';
export { note } from './note.js';
export { codePattern, plainText } from './refusal.js';
export { createCipherStore, type CipherStore } from './store.js';
