/** The partials of a data-parallel job as they are stored: what its round statements name, and what its bundle shows. */
import type { EntityManager } from 'typeorm';
import { equalBytes } from '#attestation/base';
import { partialsDigest, workersOf, type RoundStatement } from '#attestation/records';
import { WorkerSegment, type Job } from '#libs/persistence';
import { refusal } from '../core/problem/codes.js';
import { openJob } from '../jobs/open-job.js';

export interface StoredPartial {
  readonly workerId: string;
  readonly statement: Buffer;
  readonly receipt: Buffer;
}

/** By segment; those that are done. */
export async function storedPartials(manager: EntityManager, jobId: string): Promise<Map<number, StoredPartial>> {
  const rows = await manager.findBy(WorkerSegment, { jobId });
  return new Map(
    rows.flatMap(({ index, workerId, statement, receipt }) =>
      workerId === null || statement === null || receipt === null ? [] : [[index, { workerId, statement, receipt }]],
    ),
  );
}

/** A round over other receipts than those that are stored could not be shown. @throws Rejection ROUND_PARTIALS */
export async function checkStoredPartials(manager: EntityManager, job: Job, round: RoundStatement): Promise<void> {
  const { spec } = openJob(job);
  const stored = await storedPartials(manager, job.id);
  const first = round.stepFrom / spec.segmentSteps;
  const receipts = Array.from({ length: workersOf(spec) }, (_, worker) => stored.get(first + worker)?.receipt);
  const there = receipts.filter((receipt) => receipt !== undefined).map((receipt) => new Uint8Array(receipt));
  if (there.length === receipts.length && equalBytes(partialsDigest(there), round.partials)) return;
  throw refusal('ROUND_PARTIALS', {
    expected: `a round over the ${receipts.length} partials that are stored`,
    got: there.length === receipts.length ? 'one over others' : `${there.length} partials stored`,
    rule: 'apps/control-plane/README.md, rounds',
    action: 'Average the partials that the control plane hands out.',
  });
}
