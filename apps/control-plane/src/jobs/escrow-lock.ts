/**
 * Orders events of escrows against jobs that are being stored: of two open transactions each would miss what the other
 * wrote, and the job would wait for an escrow that is there. Taken first in a transaction.
 */
import type { EntityManager } from 'typeorm';

const name = 'events of escrows';

/** Held by whoever writes events, alone. */
export async function lockEvents(manager: EntityManager): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock(hashtext($1))', [name]);
}

/** Held by whoever stores jobs, beside others who do. */
export async function shareEvents(manager: EntityManager): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock_shared(hashtext($1))', [name]);
}
