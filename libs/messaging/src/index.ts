/** What control plane and nodes say to each other. */
export { Address, Code, Hex32, StepNumber, TenantName, TermsJson, Uuid, Wei, base64, httpUrl, text } from './fields.js';
export * as limits from './limits.js';
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
  TcbStatus,
  TeeKind,
} from './node-messages.js';
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
  LeaseFail,
  LeaseGrant,
  LeaseKeyed,
  LeaseProgress,
  LeaseRenewed,
  RenewedSession,
  LeaseRestore,
  LeaseRestored,
  LeaseRunning,
  ResumePoint,
  SignedStatement,
  type AppraisalAnswer,
} from './lease-messages.js';
export {
  ProofAcquire,
  ProofAcquired,
  ProofDeliver,
  ProofFail,
  ProofHeld,
  ProofPhase,
  ProofProgress,
  ProofRef,
  ProofTask,
} from './proof-messages.js';
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
} from './segment-messages.js';
export { pattern, type Acknowledged, type Pattern } from './patterns.js';
export { isProblem, type Problem } from './problem.js';
export { isLoopback } from './loopback.js';
export {
  dispatchQueue,
  dispatchSubjects,
  eventStream,
  natsOptions,
  natsPayloadBytesMin,
  newNkey,
  nkeyOf,
  subject,
  type NatsAddress,
} from './nats.js';
export { isSpoken, protocolVersion } from './protocol.js';
