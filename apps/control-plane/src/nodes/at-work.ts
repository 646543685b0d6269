/** What nodes are at, and how old the newest evidence is that they showed: for those who may see it. */
import type { EntityManager } from 'typeorm';

export interface AtWork {
  /** Leases that run. */
  readonly leases: number;
  /** When the newest evidence of its leases was judged; null: none was yet. */
  readonly evidenceAt: string | null;
}

/** Leases, the newest, whose evidence is looked at. */
const leasesLookedAt = 20;

export async function atWork(manager: EntityManager, ids: readonly string[]): Promise<ReadonlyMap<string, AtWork>> {
  const rows = await manager.query<{ id: string; leases: number; at: string | null }[]>(
    `SELECT n.id,
            (SELECT count(*)::int FROM lease WHERE node_id = n.id AND state = 'active') AS leases,
            (SELECT max(greatest(v.at, (SELECT max(r.at) FROM renewal r WHERE r.lease_id = l.id)))
             FROM (SELECT id FROM lease WHERE node_id = n.id ORDER BY acquired_at DESC LIMIT ${leasesLookedAt}) l
             JOIN verdict v ON v.lease_id = l.id) AS at
     FROM node n WHERE n.id = ANY($1)`,
    [ids],
  );
  const dated = (at: string | null): string | null => (at === null ? null : new Date(1000 * Number(at)).toISOString());
  return new Map(rows.map(({ id, leases, at }) => [id, { leases, evidenceAt: dated(at) }]));
}
