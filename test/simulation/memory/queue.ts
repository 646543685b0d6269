/** The queue's questions, asked of the in-memory engine; engine.test.ts compares the answers with those of SQL. */
import { In, type EntityManager } from 'typeorm';
import { needsTee, type Assurance } from '#attestation/records';
import { Job, Lease, NodeRecord } from '#libs/persistence';
import type { JobRequirements, NodeCapabilities } from '#libs/wire';
import { anyProvider, JobQueue, refusalMilliseconds } from '../../../apps/control-plane/src/jobs/job-queue.js';
import { leasedStates } from '../../../apps/control-plane/src/jobs/state-machine.js';
import type { MemoryManager } from './manager.js';
import type { Row } from './schema.js';

const ordered = { priority: 'ASC', rank: 'ASC', seq: 'ASC' } as const;

export class MemoryJobQueue extends JobQueue {
  override async next(
    manager: EntityManager,
    node: NodeRecord,
    now: Date,
    busy: readonly string[],
    count: number,
  ): Promise<readonly Job[]> {
    const memory = manager as unknown as MemoryManager;
    const rows = await memory.select(Job, {
      where: { state: 'submitted', funded: true },
      order: ordered,
      take: count,
      lock: 'skip',
      filter: (row) => {
        const job = row as unknown as Job;
        const isDue = job.notBefore === null || job.notBefore <= now;
        const isOpen = job.deadlineAt > now && isDue && !busy.includes(job.tenant);
        return isOpen && takes(job, node) && offers(job, node) && !isRefused(memory, job, node, now);
      },
    });
    return rows.map((row) => Object.assign(new Job(), row));
  }

  override async assign(manager: EntityManager, jobs: readonly Job[]): Promise<void> {
    for (const { id, state, fence, leaseId, updatedAt } of jobs) {
      await manager.update(Job, { id }, { state, code: null, reason: null, fence, leaseId, updatedAt } as object);
    }
  }

  override async refused(manager: EntityManager, nodeIds: readonly string[]): Promise<readonly string[]> {
    const refused = await manager.findBy(Lease, { nodeId: In([...nodeIds]), state: 'refused' });
    return [...new Set(refused.map(({ nodeId }) => nodeId))];
  }

  override async hasOtherNode(manager: EntityManager, job: Job, onlineSince: Date): Promise<boolean> {
    const memory = manager as unknown as MemoryManager;
    const rows = await memory.select(NodeRecord, {
      filter: (row: Row) => {
        const node = row as unknown as NodeRecord;
        const isThere = node.lastSeenAt > onlineSince && node.state === 'ready' && takes(job, node);
        return isThere && refusals(memory, node).every((lease) => lease.jobId !== job.id);
      },
    });
    return rows.length > 0;
  }

  override async rankFor(manager: EntityManager, tenant: string): Promise<string> {
    const memory = manager as unknown as MemoryManager;
    const [head] = await memory.select(Job, { where: { state: 'submitted', funded: true }, order: ordered, take: 1 });
    const own = memory.peek(Job, { state: 'submitted', tenant }).map((row) => Number(row['rank']));
    return String(1 + Math.max(Number(head?.['rank'] ?? 0), 0, ...own));
  }

  override async busy(manager: EntityManager, max: number): Promise<string[]> {
    const memory = manager as unknown as MemoryManager;
    const counts = new Map<string, number>();
    for (const row of await memory.select(Job, { where: { state: In([...leasedStates]) } })) {
      const tenant = String(row['tenant']);
      counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    }
    return [...counts].flatMap(([tenant, count]) => (count >= max ? [tenant] : []));
  }
}

function takes(job: Job, node: NodeRecord): boolean {
  if (job.provider !== anyProvider && job.provider !== node.provider) return false;
  return needsTee(job.assurance as Assurance) === (node.capabilities['tee'] !== 'none');
}

function offers(job: Job, node: NodeRecord): boolean {
  const wants = job.requirements as JobRequirements;
  const has = node.capabilities as NodeCapabilities;
  if (job.parallel > 1 && has.parallel !== true) return false;
  if (wants.tee !== undefined && !wants.tee.includes(has.tee)) return false;
  if (wants.groth16Key !== undefined && has.groth16Keys?.includes(wants.groth16Key) !== true) return false;
  if (wants.tcb !== undefined && wants.tcb !== (has.tcb ?? 'unknown')) return false;
  if ((wants.cores ?? 0) > has.cores || (wants.memoryMiB ?? 0) > has.memoryMiB) return false;
  if ((wants.samplesPerSecond ?? 0) > (has.samplesPerSecond ?? 0)) return false;
  return has.priceMin === undefined || BigInt(job.price) >= BigInt(has.priceMin);
}

function refusals(memory: MemoryManager, node: NodeRecord): Lease[] {
  const refused = memory.peek(Lease, { state: 'refused' }) as unknown as Lease[];
  return refused.filter((lease) => lease.nodeId === node.id);
}

function isRefused(memory: MemoryManager, job: Job, node: NodeRecord, now: Date): boolean {
  const since = now.getTime() - refusalMilliseconds;
  return refusals(memory, node).some((lease) => {
    if (lease.jobId === job.id) return true;
    const [other] = memory.peek(Job, { id: lease.jobId }) as unknown as Job[];
    return lease.endedAt!.getTime() > since && other!.policy.equals(job.policy);
  });
}
