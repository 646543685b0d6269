/** Names of the dispatch messages. The node dials out and sends; the control plane only answers. */
export const pattern = {
  nodeRegister: 'node.register.v1',
  nodeHeartbeat: 'node.heartbeat.v1',
  leaseAcquire: 'lease.acquire.v1',
  leaseAttested: 'lease.attested.v1',
  leaseKeyed: 'lease.keyed.v1',
  leaseRenewed: 'lease.renewed.v1',
  leaseEntrusted: 'lease.entrusted.v1',
  leaseRestore: 'lease.restore.v1',
  leaseRunning: 'lease.running.v1',
  leaseProgress: 'lease.progress.v1',
  leaseEvaluation: 'lease.evaluation.v1',
  leaseCheckpoint: 'lease.checkpoint.v1',
  leaseDeliver: 'lease.deliver.v1',
  leaseFail: 'lease.fail.v1',
  segmentAcquire: 'segment.acquire.v1',
  segmentJoin: 'segment.join.v1',
  segmentRenewed: 'segment.renewed.v1',
  segmentProgress: 'segment.progress.v1',
  segmentDeliver: 'segment.deliver.v1',
  segmentFail: 'segment.fail.v1',
  proofAcquire: 'proof.acquire.v1',
  proofProgress: 'proof.progress.v1',
  proofDeliver: 'proof.deliver.v1',
  proofFail: 'proof.fail.v1',
} as const;
export type Pattern = (typeof pattern)[keyof typeof pattern];

/** Answer of messages that only report. */
export type Acknowledged = Record<string, never>;
