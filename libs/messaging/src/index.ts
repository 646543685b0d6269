/** What control plane and nodes say to each other. */
export { Address, Code, Hex32, StepNumber, TermsJson, Uuid, Wei, base64, text } from './fields.js';
export * as limits from './limits.js';
export {
  ApiKeyText,
  LeaseRef,
  NodeCapabilities,
  NodeHeartbeat,
  NodeRegister,
  TeeKind,
  type HeartbeatAnswer,
  type NodeRegistered,
} from './node-messages.js';
export {
  Delivery,
  LeaseAcquire,
  LeaseAttested,
  LeaseCheckpoint,
  LeaseDeliver,
  LeaseFail,
  LeaseKeyed,
  LeaseProgress,
  LeaseRunning,
  SignedStatement,
  type AppraisalAnswer,
  type AssignedJob,
  type LeaseAcquired,
  type LeaseGrant,
  type ResumePoint,
} from './lease-messages.js';
export { pattern, type Acknowledged, type Pattern } from './patterns.js';
export { isProblem, type Problem } from './problem.js';
