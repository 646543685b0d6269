/** Everything that a simulation left in its database, by job. */
import type { EntityManager } from 'typeorm';
import {
  AuditEntry,
  Checkpoint,
  DeliveryRecord,
  Job,
  JobEvent,
  Lease,
  OutboxMessage,
  Receipt,
  SegmentProof,
  Worker,
  WorkerSegment,
} from '#libs/persistence';

export interface Tables {
  readonly jobs: readonly Job[];
  readonly events: ReadonlyMap<string, JobEvent[]>;
  readonly leases: ReadonlyMap<string, Lease[]>;
  readonly receipts: ReadonlyMap<string, Receipt[]>;
  readonly checkpoints: ReadonlyMap<string, Checkpoint[]>;
  readonly deliveries: ReadonlyMap<string, DeliveryRecord[]>;
  readonly workers: ReadonlyMap<string, Worker[]>;
  readonly partials: ReadonlyMap<string, WorkerSegment[]>;
  readonly proofs: ReadonlyMap<string, SegmentProof[]>;
  readonly outbox: ReadonlyMap<string, OutboxMessage[]>;
  readonly audit: ReadonlyMap<string, AuditEntry[]>;
}

export async function readTables(manager: EntityManager): Promise<Tables> {
  const byId = { order: { id: 'ASC' as const } };
  return {
    jobs: await manager.find(Job),
    events: grouped(await manager.find(JobEvent, byId), ({ jobId }) => jobId),
    leases: grouped(await manager.find(Lease), ({ jobId }) => jobId),
    receipts: grouped(await manager.find(Receipt), ({ jobId }) => jobId),
    checkpoints: grouped(await manager.find(Checkpoint), ({ jobId }) => jobId),
    deliveries: grouped(await manager.find(DeliveryRecord), ({ jobId }) => jobId),
    workers: grouped(await manager.find(Worker), ({ jobId }) => jobId),
    partials: grouped(await manager.find(WorkerSegment), ({ jobId }) => jobId),
    proofs: grouped(await manager.find(SegmentProof), ({ jobId }) => jobId),
    outbox: grouped(await manager.find(OutboxMessage, byId), ({ subject }) => subject),
    audit: grouped(await manager.find(AuditEntry, byId), ({ subject }) => subject),
  };
}

function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
