/** What control plane and nodes say to each other. */
export { Address, Hex32, TenantName, TermsJson, Uuid, Wei, base64, httpUrl, text } from './dispatch/fields.js';
export * as limits from './dispatch/limits.js';
export {
  ApiKeyText,
  groth16KeysMax,
  HeartbeatAnswer,
  JobRequirements,
  LeaseRef,
  NodeCapabilities,
  NodeHeartbeat,
  NodeRegister,
  NodeRegistered,
  TeeKind,
} from './dispatch/node-messages.js';
export {
  AssignedJob,
  Delivery,
  KeyReleased,
  LeaseAcquire,
  LeaseAcquired,
  LeaseAttested,
  LeaseCheckpoint,
  LeaseDeliver,
  LeaseEntrusted,
  LeaseEvaluation,
  LeaseFail,
  LeaseGrant,
  LeaseKeyed,
  LeaseProgress,
  LeaseRenewed,
  RenewedSession,
  LeaseRestore,
  LeaseRestored,
  LeaseRunning,
  LoggedEntries,
  ResumePoint,
  SignedStatement,
  type AppraisalAnswer,
} from './dispatch/lease-messages.js';
export {
  ProofAcquire,
  ProofAcquired,
  type ProofElsewhere,
  ProofDeliver,
  ProofFail,
  ProofHeld,
  ProofPhase,
  ProofProgress,
  ProofRef,
  ProofTask,
} from './dispatch/proof-messages.js';
export {
  CompleteRound,
  SegmentAcquire,
  SegmentAcquired,
  SegmentDeliver,
  SegmentFail,
  SegmentHeld,
  SegmentJoin,
  SegmentJoined,
  SegmentProgress,
  SegmentRef,
  SegmentRenewed,
  SegmentTask,
} from './dispatch/segment-messages.js';
export { pattern, type Acknowledged, type Pattern } from './dispatch/patterns.js';
export { isProblem, type Problem } from './dispatch/problem.js';
export { isLoopback } from './dispatch/loopback.js';
export {
  dispatchQueue,
  dispatchSubjects,
  eventStream,
  natsOptions,
  natsPayloadBytesMin,
  newNkey,
  subject,
  type NatsAddress,
} from './dispatch/nats.js';
export { isSpoken, protocolVersion } from './dispatch/protocol.js';
export { KeyId, KeyView, roles, scopes, type Role, type Scope } from './rest/keys.js';
export { PreflightCheck, preflightLimits, PreflightReport } from './rest/preflight.js';
