/** Every table, in the order in which foreign keys allow them to be made. */
import { ApiKey } from './entities/api-key.js';
import { BlobRecord } from './entities/blob.js';
import { ChainCursor, EscrowEventRecord } from './entities/chain.js';
import { Dataset, DatasetShard } from './entities/dataset.js';
import { KeyRelease, Verdict } from './entities/evidence.js';
import { Idempotency } from './entities/idempotency.js';
import { Job } from './entities/job.js';
import { AuditEntry, JobEvent, OutboxMessage } from './entities/journal.js';
import { Lease } from './entities/lease.js';
import { NodeRecord } from './entities/node.js';
import { Checkpoint, DeliveryRecord, Receipt } from './entities/receipt.js';

export const entities = [
  ApiKey,
  Idempotency,
  Dataset,
  DatasetShard,
  BlobRecord,
  NodeRecord,
  Job,
  Lease,
  Verdict,
  KeyRelease,
  Receipt,
  Checkpoint,
  DeliveryRecord,
  JobEvent,
  OutboxMessage,
  AuditEntry,
  EscrowEventRecord,
  ChainCursor,
];
