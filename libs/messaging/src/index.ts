/** What control plane and nodes say to each other. */
export { Address, Code, Hex32, StepNumber, TermsJson, Uuid, Wei, base64, text } from './fields.js';
export * as limits from './limits.js';
export {
  ApiKeyText,
  HeartbeatAnswer,
  LeaseRef,
  NodeCapabilities,
  NodeHeartbeat,
  NodeRegister,
  NodeRegistered,
  TeeKind,
} from './node-messages.js';
export {
  AssignedJob,
  Delivery,
  LeaseAcquire,
  LeaseAcquired,
  LeaseAttested,
  LeaseCheckpoint,
  LeaseDeliver,
  LeaseFail,
  LeaseGrant,
  LeaseKeyed,
  LeaseProgress,
  LeaseRunning,
  ResumePoint,
  SignedStatement,
  type AppraisalAnswer,
} from './lease-messages.js';
export { pattern, type Acknowledged, type Pattern } from './patterns.js';
export { isProblem, type Problem } from './problem.js';
