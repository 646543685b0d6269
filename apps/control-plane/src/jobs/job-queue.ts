/** The queue of jobs that wait for a node: which job a node gets, and whether another node could take a job. */
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { needsTee, type Assurance } from '#attestation/records';
import { Job, NodeRecord } from '#libs/persistence';
import type { JobRequirements } from '#libs/wire';
import { semanticsOf } from './semantics.js';
import { leasedStates } from './state-machine.js';

export const anyProvider = `0x${'00'.repeat(20)}`;
/** For this long a node whose evidence a policy refused is given no job under the same policy. */
export const refusalMilliseconds = 600_000;
/** Candidates looked at for each job wanted: some may be in another's hands. */
const pickedForOne = 3;

@Injectable()
export class JobQueue {
  /**
   * The next jobs that this node can take, locked, at most `count`; jobs that another transaction looks at are passed over.
   * @param busy  tenants that have as many jobs under way as they may
   */
  next(
    manager: EntityManager,
    node: NodeRecord,
    now: Date,
    busy: readonly string[],
    count: number,
  ): Promise<readonly Job[]> {
    const query = manager.createQueryBuilder(Job, 'j').where(`j.id IN (${picked(node, busy)})`, {
      ...offered(node),
      ...{ providers: [anyProvider, node.provider], busy, now, nodeId: node.id },
      ...{ since: new Date(now.getTime() - refusalMilliseconds), picked: count * pickedForOne },
    });
    // Another transaction may have taken some of them since they were picked.
    query.andWhere(`j.state = 'submitted' AND j.funded`);
    query.orderBy('j.priority').addOrderBy('j.rank').addOrderBy('j.seq').limit(count);
    return query.setLock('pessimistic_write').setOnLocked('skip_locked').getMany();
  }

  /** Writes the state and the lease that each of these jobs was given, in one statement. */
  async assign(manager: EntityManager, jobs: readonly Job[]): Promise<void> {
    await manager.query(
      `UPDATE job j SET state = v.state, code = NULL, reason = NULL, fence = v.fence, lease_id = v.lease_id, updated_at = $5
       FROM unnest($1::text[], $2::text[], $3::int[], $4::uuid[]) AS v(id, state, fence, lease_id) WHERE j.id = v.id`,
      [
        jobs.map(({ id }) => id),
        jobs.map(({ state }) => state),
        jobs.map(({ fence }) => fence),
        jobs.map(({ leaseId }) => leaseId),
        jobs[0]!.updatedAt,
      ],
    );
  }

  /** Of these nodes, those that a policy has refused. */
  async refused(manager: EntityManager, nodeIds: readonly string[]): Promise<readonly string[]> {
    const rows = await manager.query<{ node_id: string }[]>(
      `SELECT DISTINCT node_id FROM lease WHERE node_id = ANY($1) AND state = 'refused'`,
      [nodeIds],
    );
    return rows.map(({ node_id }) => node_id);
  }

  /** True while another node, heard of since `onlineSince`, could take the job and was not refused for it. */
  hasOtherNode(manager: EntityManager, job: Job, onlineSince: Date): Promise<boolean> {
    const query = manager
      .createQueryBuilder(NodeRecord, 'n')
      .where('n.last_seen_at > :onlineSince', { onlineSince })
      .andWhere(`n.state = 'ready'`)
      .andWhere(
        `NOT EXISTS (SELECT 1 FROM "lease" l WHERE l.job_id = :jobId AND l.node_id = n.id AND l.state = 'refused')`,
        { jobId: job.id },
      );
    if (job.provider !== anyProvider) query.andWhere('n.provider = :provider', { provider: job.provider });
    query.andWhere(`n.capabilities ->> 'tee' ${needsTee(job.assurance as Assurance) ? '<>' : '='} 'none'`);
    const { fxt, ops, start } = job.requirements as JobRequirements;
    if (fxt !== undefined) {
      query.andWhere(`n.capabilities -> 'fxt' @> CAST(:fxt AS jsonb)`, { fxt: JSON.stringify([fxt]) });
      query.andWhere(`n.capabilities -> 'ops' @> CAST(:ops AS jsonb)`, { ops: JSON.stringify(ops ?? []) });
    }
    if (start === true) query.andWhere(`n.capabilities -> 'start' = 'true'::jsonb`);
    return query.getExists();
  }

  /**
   * A place for a new job: behind the waiting jobs of its tenant, and one turn behind the head of the queue. A tenant
   * with a thousand jobs waiting does not keep the first job of another waiting behind them (start-time fair queuing
   * with one turn for each job).
   */
  async rankFor(manager: EntityManager, tenant: string): Promise<string> {
    const [row] = await manager.query<{ rank: string }[]>(
      `SELECT 1 + GREATEST(
         COALESCE((SELECT rank FROM job WHERE state = 'submitted' AND funded ORDER BY priority, rank, seq LIMIT 1), 0),
         COALESCE((SELECT max(rank) FROM job WHERE tenant = $1 AND state = 'submitted'), 0)
       ) AS rank`,
      [tenant],
    );
    return row!.rank;
  }

  /** Jobs of the tenant that wait. */
  async waiting(manager: EntityManager, tenant: string): Promise<number> {
    return manager.countBy(Job, { tenant, state: 'submitted' });
  }

  /** Tenants with at least `max` jobs under way, or what limit they have of their own. */
  async busy(manager: EntityManager, max: number): Promise<string[]> {
    const rows = await manager.query<{ tenant: string }[]>(
      `SELECT j.tenant FROM job j LEFT JOIN tenant_limit l ON l.tenant = j.tenant WHERE j.state = ANY($1)
       GROUP BY j.tenant, l.jobs_under_way_max HAVING count(*) >= coalesce(l.jobs_under_way_max, $2)`,
      [leasedStates, max],
    );
    return rows.map(({ tenant }) => tenant);
  }
}

const waiting = `state = 'submitted' AND funded`;

/**
 * Jobs at the head of the queue that the node can take. Jobs that ask for the same of a node are a class; however many
 * wait for what this node has not, only the classes of those are looked at, each found by one step in an index.
 */
function picked({ capabilities }: NodeRecord, busy: readonly string[]): string {
  return `
    WITH RECURSIVE class AS (
      SELECT p.provider, f.assurance, f.requirements
      FROM unnest(ARRAY[:...providers]::text[]) AS p(provider) CROSS JOIN LATERAL (
        SELECT assurance, requirements FROM job WHERE ${waiting} AND provider = p.provider
        ORDER BY assurance, requirements LIMIT 1) f
      UNION ALL
      SELECT c.provider, n.assurance, n.requirements FROM class c CROSS JOIN LATERAL (
        SELECT assurance, requirements FROM job
        WHERE ${waiting} AND provider = c.provider AND (assurance, requirements) > (c.assurance, c.requirements)
        ORDER BY assurance, requirements LIMIT 1) n)
    SELECT w.id FROM class c CROSS JOIN LATERAL (
      SELECT j.id, j.priority, j.rank, j.seq FROM job j
      WHERE ${waiting} AND j.provider = c.provider AND j.assurance = c.assurance
        AND j.requirements = c.requirements AND j.deadline_at > :now AND (j.not_before IS NULL OR j.not_before <= :now)
        ${capabilities['parallel'] === true ? '' : 'AND j.parallel = 1'}
        ${capabilities['priceMin'] === undefined ? '' : 'AND j.price >= :priceMin'}
        ${busy.length === 0 ? '' : 'AND j.tenant NOT IN (:...busy)'}
        AND NOT EXISTS (
          SELECT 1 FROM lease l JOIN job r ON r.id = l.job_id
          WHERE l.node_id = :nodeId AND l.state = 'refused'
            AND (l.job_id = j.id OR (r.policy = j.policy AND l.ended_at > :since)))
      ORDER BY j.priority, j.rank, j.seq LIMIT :picked) w
    WHERE c.assurance ${capabilities['tee'] === 'none' ? '' : 'NOT '}IN ('zk', 'sampled')
      AND (c.requirements -> 'tee' IS NULL OR c.requirements -> 'tee' ? :tee)
      AND ${keysOf(capabilities).length === 0 ? `c.requirements -> 'groth16Key' IS NULL` : `COALESCE(c.requirements ->> 'groth16Key' IN (:...keys), true)`}
      AND COALESCE((c.requirements ->> 'fxt')::int IN (:...fxt), true)
      AND COALESCE(c.requirements -> 'ops' <@ CAST(:ops AS jsonb), true)
      AND (c.requirements -> 'start' IS NULL OR :start)
      AND COALESCE(c.requirements ->> 'tcb', :tcb) = :tcb
      AND COALESCE((c.requirements ->> 'cores')::numeric, 0) <= :cores
      AND COALESCE((c.requirements ->> 'memoryMiB')::numeric, 0) <= :memoryMiB
      AND COALESCE((c.requirements ->> 'samplesPerSecond')::numeric, 0) <= :speed
    ORDER BY w.priority, w.rank, w.seq LIMIT :picked`;
}

/** What the node has of what a job may demand. */
function offered({ capabilities }: NodeRecord): Record<string, unknown> {
  const { tee, tcb, cores, memoryMiB, samplesPerSecond, priceMin } = capabilities;
  const keys = keysOf(capabilities);
  const { fxt, ops, start } = semanticsOf(capabilities);
  const semantics = { fxt, ops: JSON.stringify(ops), start };
  return { tee, tcb: tcb ?? 'unknown', cores, memoryMiB, speed: samplesPerSecond ?? 0, priceMin, keys, ...semantics };
}

/** Plans of the Groth16 keys that the node has. */
export function keysOf({ groth16Keys }: NodeRecord['capabilities']): readonly string[] {
  return Array.isArray(groth16Keys) ? (groth16Keys as string[]) : [];
}
