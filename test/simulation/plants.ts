/** Faults planted on purpose, to see that the simulation finds them. */
import { DataSource, type EntityManager } from 'typeorm';
import { Job, Lease, SegmentProof } from '#libs/persistence';
import type { LeaseRef } from '#libs/wire';
import { segmentSteps } from '#test/made-session';
import { type Held, LeaseStore } from '../../apps/control-plane/src/claims/lease-store.js';
import { Sweeper } from '../../apps/control-plane/src/claims/sweeper.js';
import type { Principal } from '../../apps/control-plane/src/core/auth/principal.js';
import { proofClaims } from '../../apps/control-plane/src/claims/claim-kinds.js';
import { ClaimStore } from '../../apps/control-plane/src/claims/claim-store.js';
import { RenewalReports } from '../../apps/control-plane/src/reports/renewal-reports.js';
import { SegmentReports } from '../../apps/control-plane/src/reports/segment-reports.js';
import { TrainingReports } from '../../apps/control-plane/src/reports/training-reports.js';
import { type Announcement, JobJournal } from '../../apps/control-plane/src/jobs/journal.js';
import type { Plant } from './replica.js';

/** A lease book that lets whoever once held a lease go on: two nodes execute one job. */
export const noFence: Plant = (container) => {
  const database = container.get(DataSource);
  const journal = container.get(JobJournal);
  const book = container.get(LeaseStore);
  const hold = async <T>(_by: Principal, ref: LeaseRef, work: (held: Held) => Promise<T>): Promise<T> =>
    database.transaction(async (manager) => {
      const lease = await manager.findOneByOrFail(Lease, { id: ref.leaseId });
      return work({ manager, job: await journal.lock(manager, lease.jobId), lease });
    });
  return [[LeaseStore, Object.assign(book, { hold })]];
};

/** A lease book that reads the job before the lock and believes what it read. */
export const staleRead: Plant = (container) => {
  const database = container.get(DataSource);
  const journal = container.get(JobJournal);
  const book = container.get(LeaseStore);
  const hold = async <T>(by: Principal, ref: LeaseRef, work: (held: Held) => Promise<T>): Promise<T> =>
    database.transaction(async (manager) => {
      const lease = await manager.findOneByOrFail(Lease, { id: ref.leaseId, tenant: by.tenant });
      const job = await manager.findOneByOrFail(Job, { id: lease.jobId });
      if (lease.fence !== job.fence || lease.state !== 'active')
        return LeaseStore.prototype.hold.call(book, by, ref, work as never) as Promise<T>;
      await journal.lock(manager, lease.jobId);
      return work({ manager, job, lease });
    });
  return [[LeaseStore, Object.assign(book, { hold })]];
};

/** A journal that forgets some outbox rows. */
export const lostOutbox: Plant = (container) => {
  const journal = container.get(JobJournal);
  const announceAll = (manager: EntityManager, messages: readonly Announcement[]) =>
    JobJournal.prototype.announceAll.call(
      journal,
      manager,
      messages.filter(({ topic }) => topic !== 'job.running.v1'),
    );
  return [[JobJournal, Object.assign(journal, { announceAll })]];
};

/** Reports of renewals that take one that is older than what is known. */
export const olderRenewal: Plant = (container) => {
  const reports = container.get(RenewalReports);
  return [[RenewalReports, Object.assign(reports, { requireLater: () => undefined })]];
};

/** Nobody looks whether an attestation is over: neither who takes what was signed nor who sweeps up. */
export const lapseUnseen: Plant = (container) => {
  const reports = container.get(TrainingReports);
  const sweeper = container.get(Sweeper);
  return [
    [TrainingReports, Object.assign(reports, { clock: { now: () => new Date(0) } })],
    [Sweeper, Object.assign(sweeper, { lapse: () => Promise.resolve() })],
  ];
};

type Hold = ClaimStore['hold'];

/** Claims of proofs that take what any claim brings, however many came after it. */
export const staleClaim: Plant = (container) => {
  const database = container.get(DataSource);
  const journal = container.get(JobJournal);
  const claims = container.get(ClaimStore);
  const hold = ((kind, by, ref, work) => {
    if (kind !== proofClaims) return ClaimStore.prototype.hold.call(claims, kind, by, ref, work);
    const { jobId, index } = ref;
    return database.transaction(async (manager) => {
      const job = await journal.lock(manager, jobId);
      return work(manager, job, await manager.findOneByOrFail(SegmentProof, { jobId, index }));
    });
  }) as Hold;
  return [[ClaimStore, Object.assign(claims, { hold })]];
};

/** Reports of segments that take a partial of any session, however long its attestation is over. */
export const workerLapseUnseen: Plant = (container) => {
  const reports = container.get(SegmentReports);
  return [[SegmentReports, Object.assign(reports, { clock: { now: () => new Date(0), at: () => 0 } })]];
};

/** Claims that forget what is done: a partial that comes twice counts twice. */
export const partialTwice: Plant = (container) => {
  const claims = container.get(ClaimStore);
  const hold = ((kind, by, ref, work) =>
    ClaimStore.prototype.hold.call(claims, kind, by, ref, ((manager, job, row) =>
      work(manager, job, Object.assign(row, { doneAt: null }))) satisfies Parameters<Hold>[3])) as Hold;
  return [[ClaimStore, Object.assign(claims, { hold })]];
};

/** Reports of training that say yes to a later checkpoint of a first lease and forget it. */
export const lostCheckpoint: Plant = (container) => {
  const reports = container.get(TrainingReports);
  const checkpoint: TrainingReports['checkpoint'] = (by, message) =>
    message.fence === 1 && message.step > segmentSteps
      ? Promise.resolve({})
      : TrainingReports.prototype.checkpoint.call(reports, by, message);
  return [[TrainingReports, Object.assign(reports, { checkpoint })]];
};
