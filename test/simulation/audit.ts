/** What must hold at the end of a simulation, whatever happened: read from the tables, the chain and the answers given. */
import { toHex } from '#attestation/base';
import { parseStepStatement } from '#attestation/records';
import type { Job, JobEvent } from '#libs/persistence';
import {
  endStates,
  transitions,
  type JobState,
  type JobTrigger,
} from '../../apps/control-plane/src/jobs/state-machine.js';
import { checkProofs, checkRounds, checkWeights, stepStatementBytes, type Demand } from './audit-claims.js';
import { invariants, type Invariant, type Violation } from './invariants.js';
import { clockSeconds } from './replica.js';
import { readTables, type Tables } from './tables.js';
import type { World } from './world.js';

interface StateChange {
  readonly from: JobState | null;
  readonly to: JobState;
  readonly fence: number;
}

export class Audit {
  readonly checks = Object.fromEntries(invariants.map((name) => [name, 0])) as Record<Invariant, number>;
  readonly violations: Violation[] = [];

  constructor(private readonly world: World) {}

  async run(): Promise<void> {
    const tables = await readTables(this.world.store.manager);
    for (const job of tables.jobs) this.job(job, tables);
    this.acknowledgements(tables);
    this.demand('no unforeseen failure', null, this.world.unforeseen.length === 0, () =>
      this.world.unforeseen
        .map((error) => (error instanceof Error ? (error.stack ?? error.message) : String(error)))
        .join('\n'),
    );
  }

  private job(job: Job, tables: Tables): void {
    const events = tables.events.get(job.id) ?? [];
    const changes = events.filter(({ type }) => type === 'state').map(({ data }) => data as unknown as StateChange);
    const leases = tables.leases.get(job.id) ?? [];
    this.demand('every job ends', job.id, endStates.includes(job.state as JobState), () => `it is ${job.state}`);
    this.states(job, changes);
    const renewals = events.filter(({ type }) => type === 'renewed').length;
    this.records(job, changes, renewals, tables);
    const fences = leases.map(({ fence }) => fence).sort((a, b) => a - b);
    const isRising = fences.every((fence, index) => fence === index + 1) && job.fence === fences.length;
    this.demand('fences rise by one with every lease', job.id, isRising, () => `${fences.join(' ')}; job ${job.fence}`);
    const left = leases.filter(({ state }) => state === 'active');
    this.demand('no lease outlives its job', job.id, left.length === 0, () => `fence ${left[0]?.fence} is active`);
    this.effects(job, events);
    this.renewals(job, events);
    this.receipts(job, tables);
    this.delivery(job, changes, tables);
    this.payment(job, tables);
    const { kind, borders } = this.world.jobs.get(job.id)!;
    const demand: Demand = (name, holds, detail) => this.demand(name, job.id, holds, detail);
    checkWeights(borders, tables.receipts.get(job.id) ?? [], demand);
    if (kind === 'parallel') checkRounds(job, events, tables, demand);
    else if (kind !== 'plain') checkProofs(job, events, tables, demand);
  }

  private states(job: Job, changes: readonly StateChange[]): void {
    let state: JobState | null = null;
    for (const { from, to } of changes) {
      const isKnown = from === null ? state === null && to === 'submitted' : from === state && triggerBetween(from, to);
      this.demand(
        'states follow the table',
        job.id,
        isKnown !== false && isKnown !== undefined,
        () => `${from} to ${to} after ${state}`,
      );
      state = to;
    }
    this.demand('states follow the table', job.id, state === job.state, () => `${job.state} after ${state}`);
  }

  private records(job: Job, changes: readonly StateChange[], renewals: number, tables: Tables): void {
    const topics = (tables.outbox.get(job.id) ?? []).filter(({ topic }) => topic.startsWith('job.'));
    const expected = changes.filter(({ from }) => from !== null).map(({ to }) => `job.${to}.v1`);
    const got = topics.map(({ topic }) => topic);
    const entries = (tables.audit.get(job.id) ?? []).filter(({ action }) => action.startsWith('job.'));
    const holds = got.join() === expected.join() && entries.length === changes.length + renewals;
    const name = 'every transition has its outbox row and audit entry';
    this.demand(name, job.id, holds, () => `${expected.join()}; outbox ${got.join()}; ${entries.length} audit entries`);
    const waiting = topics.filter(({ publishedAt }) => publishedAt === null);
    this.demand('every outbox row was published', job.id, waiting.length === 0, () => `${waiting[0]?.topic} was not`);
  }

  /** Walks the job's stream, whose order is the order of commits. */
  private effects(job: Job, events: readonly JobEvent[]): void {
    let fence = 0;
    let state: string = 'submitted';
    for (const { type, data } of events) {
      if (type === 'state') {
        state = String(data['to']);
        fence = Number(data['fence']);
      } else if (type === 'checkpoint' || type === 'delivery') {
        const isHolder = data['fence'] === fence && state === 'running';
        const name = 'only the holder of the newest fence has effect';
        this.demand(
          name,
          job.id,
          isHolder,
          () => `${type} under fence ${String(data['fence'])}, newest ${fence}, job ${state}`,
        );
      }
    }
  }

  private renewals(job: Job, events: readonly JobEvent[]): void {
    let newest = { fence: 0, until: '' };
    for (const { type, data } of events) {
      if (type !== 'renewed') continue;
      const [fence, until] = [Number(data['fence']), String(data['attestedUntil'])];
      const isLonger = fence > newest.fence || (fence === newest.fence && until > newest.until);
      this.demand('a renewal only prolongs', job.id, isLonger, () => `${until} after ${newest.until}, fence ${fence}`);
      newest = { fence, until };
    }
  }

  private receipts(job: Job, tables: Tables): void {
    const rows = (tables.receipts.get(job.id) ?? []).sort((a, b) => Number(a.stepFrom) - Number(b.stepFrom));
    let step = 0;
    let weights: string | null = null;
    let fence = 0;
    for (const row of rows) {
      const statement = parseStepStatement(new Uint8Array(row.statement.subarray(0, stepStatementBytes)));
      const before = toHex(statement.weightsBefore);
      const follows = Number(row.stepFrom) === step && (weights === null || weights === before) && row.fence >= fence;
      this.demand('receipts make one chain without gap', job.id, follows, () => `steps ${row.stepFrom} after ${step}`);
      step = Number(row.stepTo);
      weights = toHex(statement.weightsAfter);
      fence = row.fence;
    }
    const checkpoints = tables.checkpoints.get(job.id) ?? [];
    const isBacked = checkpoints.every((point) => rows.some((row) => row.stepTo === point.step));
    this.demand('receipts make one chain without gap', job.id, isBacked, () => 'a checkpoint without a receipt');
  }

  private delivery(job: Job, changes: readonly StateChange[], tables: Tables): void {
    const rows = tables.deliveries.get(job.id) ?? [];
    const delivered = changes.filter(({ from, to }) => from === 'running' && to === 'delivered');
    const done = (tables.leases.get(job.id) ?? []).filter(({ state }) => state === 'done');
    const counts = [rows.length, delivered.length, done.length];
    const isOne = counts.every((count) => count === counts[0]) && counts[0]! <= 1;
    const isLast = rows[0] === undefined || (rows[0].fence === job.fence && delivered[0]?.fence === job.fence);
    this.demand(
      'one delivery, by the last holder',
      job.id,
      isOne && isLast,
      () => `rows, transitions, leases: ${counts.join()}`,
    );
  }

  private payment(job: Job, tables: Tables): void {
    const paid = this.world.chain.escrows.get(job.escrowId)?.paid ?? null;
    const [row] = tables.deliveries.get(job.id) ?? [];
    const run = row?.delivery['run'] as { readonly delivery: string } | undefined;
    const isPaidFor = paid === null || paid === run?.delivery;
    const isSettled = (job.state === 'settled') === (paid !== null);
    const name = 'one payment, for the delivery that is stored';
    this.demand(
      name,
      job.id,
      isPaidFor && isSettled,
      () => `job ${job.state}, paid for ${paid}, stored ${run?.delivery}`,
    );
  }

  private acknowledgements({ jobs, checkpoints, partials, proofs, deliveries }: Tables): void {
    const { acknowledged } = this.world;
    const byId = new Map(jobs.map((job) => [job.id, job]));
    const name = 'no acknowledged write is lost';
    for (const id of acknowledged.submissions) this.demand(name, id, byId.has(id), () => 'the job is not there');
    for (const id of acknowledged.cancellations) {
      this.demand(name, id, byId.get(id)?.state === 'cancelled', () => `cancelled, but ${byId.get(id)?.state}`);
    }
    const signed = [...acknowledged.checkpoints, ...acknowledged.partials, ...acknowledged.deliveries];
    for (const { jobId, signedAt, attestedUntil } of signed) {
      const isFresh = signedAt <= attestedUntil + clockSeconds;
      const late = 'what a session signs after its attestation has no effect';
      this.demand(late, jobId, isFresh, () => `signed at ${signedAt}, attested until ${attestedUntil}`);
    }
    for (const { jobId, step, fence } of acknowledged.checkpoints) {
      const stored = (checkpoints.get(jobId) ?? []).find((row) => row.step === String(step));
      this.demand(
        name,
        jobId,
        stored !== undefined && stored.fence <= fence,
        () => `checkpoint ${step} of fence ${fence}`,
      );
    }
    for (const { jobId, index, blob } of acknowledged.partials) {
      const stored = partials.get(jobId)?.find((row) => row.index === index);
      this.demand(name, jobId, stored?.blob === blob, () => `partial ${index}: ${blob}, stored ${stored?.blob}`);
    }
    for (const { jobId, index } of acknowledged.proofs) {
      const stored = proofs.get(jobId)?.find((row) => row.index === index);
      this.demand(name, jobId, stored?.doneAt != null, () => `the proof of segment ${index}`);
    }
    for (const { jobId, blob } of acknowledged.deliveries) {
      const stored = deliveries.get(jobId)?.[0]?.resultBlob;
      this.demand(name, jobId, stored === blob, () => `delivered ${blob}, stored ${stored}`);
    }
  }

  private demand(invariant: Invariant, jobId: string | null, holds: boolean, detail: () => string): void {
    this.checks[invariant] += 1;
    if (!holds) this.violations.push({ invariant, jobId, detail: detail() });
  }
}

function triggerBetween(from: JobState, to: JobState): boolean {
  return (Object.keys(transitions) as JobTrigger[]).some((trigger) => {
    const { from: starts, to: end } = transitions[trigger];
    return end === to && (starts as readonly JobState[]).includes(from);
  });
}
