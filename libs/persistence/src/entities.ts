/** Every table, in the order in which foreign keys allow them to be made. */
import { ApiKey } from './entities/api-key.js';
import { BlobRecord } from './entities/blob.js';
import { ConsoleSession } from './entities/console-session.js';
import { ChainCursor, EscrowEventRecord } from './entities/chain.js';
import { Dataset, DatasetShard } from './entities/dataset.js';
import { DeadLetter } from './entities/dead-letter.js';
import { EndorsementSet, KeyRelease, ProverKey, Renewal, Verdict, WorkerRenewal } from './entities/evidence.js';
import { Idempotency } from './entities/idempotency.js';
import { Job } from './entities/job.js';
import { AuditEntry, AuditHead, JobEvent, OutboxMessage } from './entities/journal.js';
import { Lease } from './entities/lease.js';
import { LogOutboxEntry } from './entities/log-outbox.js';
import { NodePreflight } from './entities/node-preflight.js';
import { NodeRecord } from './entities/node.js';
import { Checkpoint, DeliveryRecord, Receipt } from './entities/receipt.js';
import { Worker, WorkerSegment } from './entities/segment.js';
import { SegmentProof } from './entities/segment-proof.js';
import { TenantLimit } from './entities/tenant-limit.js';
import { Webhook, WebhookDelivery } from './entities/webhook.js';

export const entities = [
  ApiKey,
  ConsoleSession,
  Idempotency,
  Dataset,
  DatasetShard,
  BlobRecord,
  NodeRecord,
  NodePreflight,
  Job,
  Lease,
  Verdict,
  EndorsementSet,
  KeyRelease,
  ProverKey,
  Renewal,
  Receipt,
  Checkpoint,
  DeliveryRecord,
  SegmentProof,
  Worker,
  WorkerRenewal,
  WorkerSegment,
  JobEvent,
  OutboxMessage,
  LogOutboxEntry,
  AuditEntry,
  AuditHead,
  EscrowEventRecord,
  ChainCursor,
  Webhook,
  WebhookDelivery,
  DeadLetter,
  TenantLimit,
];
