/** The control plane's durable truth: tables, migrations and the two engines. */
export { defaultCacheDirectory } from './cache-directory.js';
export { openDatabase, type Database } from './database.js';
export { dumpSchema } from './schema-dump.js';
export { ApiKey, roles, type Role } from './entities/api-key.js';
export { BlobRecord } from './entities/blob.js';
export { ChainCursor, EscrowEventRecord } from './entities/chain.js';
export { Dataset, DatasetShard } from './entities/dataset.js';
export { DeadLetter } from './entities/dead-letter.js';
export { EndorsementSet, KeyRelease, Renewal, Verdict, WorkerRenewal } from './entities/evidence.js';
export { Idempotency } from './entities/idempotency.js';
export { Job } from './entities/job.js';
export { AuditEntry, AuditHead, JobEvent, OutboxMessage } from './entities/journal.js';
export { Lease, type LeaseState } from './entities/lease.js';
export { NodeRecord, nodeStates, type NodeState } from './entities/node.js';
export { Checkpoint, DeliveryRecord, Receipt } from './entities/receipt.js';
export { SegmentProof } from './entities/segment-proof.js';
export { Worker, WorkerSegment } from './entities/segment.js';
export { Webhook, WebhookDelivery } from './entities/webhook.js';
