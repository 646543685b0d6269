/**
 * Checkpoints in pieces from which nobody goes on any more. One takes as much as a state, up to 1 GiB, so they do not wait
 * for the day that other ciphertexts do. Where steps are proved or workers share rounds, every border is gone on from, and
 * checkpoints are single messages.
 */
import type { EntityManager } from 'typeorm';

/**
 * Of a checkpoint `c` and its job `j`, as of the time `:at` = $1: a later one is there, or the job has ended. A failed one may be tried again while its
 * escrow lives and its deadline is ahead.
 */
export const spentAt = `
  (j.requirements ->> 'pieces' = 'true' AND (
    j.state IN ('delivered', 'settled', 'disputed', 'cancelled', 'expired')
    OR (j.state IN ('failed', 'refused')
        AND (j.deadline_at <= $1 OR j.escrow_state NOT IN ('none', 'open', 'accepted', 'started')))
    OR EXISTS (SELECT 1 FROM checkpoint n WHERE n.job_id = c.job_id AND n.step > c.step)))`;

interface SpentCheckpoint {
  readonly sha256: string;
  /** When a report named it: whoever brought the same bytes later may mean something else. */
  readonly namedAt: Date;
}

/** Those that are still stored. @param jobId of one job; null: of all */
export async function spentCheckpoints(
  manager: EntityManager,
  at: Date,
  jobId: string | null,
): Promise<readonly SpentCheckpoint[]> {
  return manager.query<SpentCheckpoint[]>(
    `SELECT DISTINCT c.blob AS "sha256", c.created_at AS "namedAt"
     FROM checkpoint c JOIN job j ON j.id = c.job_id JOIN blob b ON b.sha256 = c.blob
     WHERE ${spentAt} AND ($2::text IS NULL OR c.job_id = $2)`,
    [at, jobId],
  );
}
