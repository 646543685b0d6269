/** All jobs and all money of the escrow, from its events alone (contracts/SPEC.md §16, I14). */
import { jobStates, type JobState } from './job-view.js';
import type { EscrowEvent } from './events.js';

interface ProjectedDuty {
  readonly segment: number;
  /** Who challenged it; null: nobody. */
  readonly challenger: string | null;
  /** Unix seconds; null: proved before it was due by name. */
  readonly deadline: number | null;
  /** Deposited by the challenger and not yet paid out. */
  readonly bond: bigint;
  readonly proved: boolean;
}

/** Money that left the escrow of a job for somebody's credit. */
interface ProjectedPayment {
  readonly kind: 'voucher' | 'prefix' | 'bond' | 'deposit' | 'end';
  readonly to: 'provider' | 'client' | 'challenger' | 'treasury';
  /** Of a bond that a proof has earned: the treasury's fee is taken out of it. */
  readonly amount: bigint;
  readonly transaction: string;
  readonly blockNumber: number;
}

export interface ProjectedJob {
  state: JobState;
  readonly client: string;
  provider: string;
  readonly token: string;
  readonly price: bigint;
  paid: bigint;
  outcome: number | null;
  upTo: number;
  root: string | null;
  last: string | null;
  delivery: string | null;
  /** Account of the settlement key that sealed. */
  sealedBy: string | null;
  /** Settlement keys behind the run. */
  sealedKeys: readonly string[];
  /** Settlement keys that may seal, in the order in which they were bound. */
  readonly boundKeys: { readonly key: string; readonly session: string; readonly transaction: string }[];
  readonly duties: Map<number, ProjectedDuty>;
  /** Duties that nobody opened: all segments, or a sample, with the deadline of their proofs or of the draw. */
  setDue: { readonly all: boolean; readonly deadline: number } | null;
  sample: { readonly seed: string; readonly fromBlock: boolean; readonly deadline: number } | null;
  /** Whether the seal was taken away. */
  escalated: boolean;
  /** Why: 0 its selector was retired, 1 its key was revoked, 2 its machine was condemned. */
  unsealed: { readonly key: string; readonly cause: number } | null;
  /** Seconds that the provider held the job before it gave it back; null: it did not. */
  resignedAfter: number | null;
  deposit: bigint;
  revealedKey: string | null;
  readonly payments: ProjectedPayment[];
  /** Of the last event. */
  transaction: string;
}

/** Events of one job, in the chain's order. @returns null before it was opened */
export function projectJob(events: Iterable<ProjectedEvent>): ProjectedJob | null {
  let job: ProjectedJob | null = null;
  for (const event of events) {
    if (event.name === 'JobOpened') job = openedJob(event);
    else if (job !== null) applyToJob(job, event);
  }
  return job;
}

/** What a projection reads of an event. */
type ProjectedEvent = Pick<EscrowEvent, 'name' | 'args' | 'txHash' | 'blockNumber'>;

interface Stake {
  readonly free: bigint;
  readonly locked: bigint;
}

export class Projection {
  readonly jobs = new Map<string, ProjectedJob>();
  readonly #credits = new Map<string, bigint>();
  readonly #stakes = new Map<string, Stake>();

  /** Events must come in the chain's order. */
  apply(event: EscrowEvent): void {
    const text = (name: string) => String(event.args[name]);
    const amount = (name: string) => BigInt(text(name));
    if (event.name === 'JobOpened') {
      this.jobs.set(text('job'), openedJob(event));
    } else if (event.job !== null) {
      const job = this.jobs.get(event.job);
      if (job !== undefined) applyToJob(job, event);
    } else if (event.name === 'Credited' || event.name === 'Withdrawn') {
      const account = `${text('token')}:${text('who')}`;
      const change = event.name === 'Credited' ? amount('amount') : -amount('amount');
      this.#credits.set(account, (this.#credits.get(account) ?? 0n) + change);
    } else if (event.name === 'StakeChanged') {
      this.#stakes.set(`${text('token')}:${text('provider')}`, { free: amount('free'), locked: amount('locked') });
    }
  }

  creditOf(who: string, token: string): bigint {
    return this.#credits.get(`${token}:${who}`) ?? 0n;
  }

  stakeOf(who: string, token: string): Stake {
    return this.#stakes.get(`${token}:${who}`) ?? { free: 0n, locked: 0n };
  }

  /** What the contract must hold of one token: I1 and I2 of contracts/SPEC.md §15. */
  owed(token: string): bigint {
    let sum = 0n;
    for (const [account, credit] of this.#credits) if (account.startsWith(`${token}:`)) sum += credit;
    for (const [account, { free, locked }] of this.#stakes) {
      if (account.startsWith(`${token}:`)) sum += free + locked;
    }
    for (const job of this.jobs.values()) {
      if (job.token !== token) continue;
      if (isLive(job.state)) sum += job.price - job.paid + job.deposit;
      for (const { bond } of job.duties.values()) sum += bond;
    }
    return sum;
  }
}

const isLive = (state: JobState) => jobStates.indexOf(state) <= jobStates.indexOf('Committed');

const textOf = ({ args }: ProjectedEvent, name: string): string => String(args[name]);
const amountOf = (event: ProjectedEvent, name: string): bigint => BigInt(textOf(event, name));
const listOf = ({ args }: ProjectedEvent, name: string): readonly string[] => {
  const value = args[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
};
const countOf = (event: ProjectedEvent, name: string): number => Number(textOf(event, name));

function openedJob(event: ProjectedEvent): ProjectedJob {
  return {
    state: 'Open',
    client: textOf(event, 'client'),
    provider: textOf(event, 'provider'),
    token: textOf(event, 'token'),
    price: amountOf(event, 'price'),
    ...{ paid: 0n, outcome: null, upTo: 0, root: null, last: null, delivery: null, sealedBy: null, sealedKeys: [] },
    ...{ boundKeys: [], unsealed: null, resignedAfter: null },
    ...{ duties: new Map(), setDue: null, sample: null, escalated: false, deposit: 0n, revealedKey: null },
    payments: [],
    transaction: event.txHash,
  };
}

function applyToJob(job: ProjectedJob, event: ProjectedEvent): void {
  job.transaction = event.txHash;
  switch (event.name) {
    case 'JobAccepted':
      job.state = 'Accepted';
      job.provider = textOf(event, 'provider');
      return;
    case 'JobStarted':
      job.state = 'Started';
      return;
    case 'JobCommitted':
      return committed(job, event);
    case 'SetDue':
      job.setDue = { all: event.args['all'] === true, deadline: countOf(event, 'deadline') };
      return;
    case 'SampleDrawn':
      job.sample = {
        seed: textOf(event, 'seed'),
        fromBlock: event.args['fromBlock'] === true,
        deadline: countOf(event, 'deadline'),
      };
      return;
    case 'KeyBound':
      // The zero account is nobody's: a job that may be proved starts without a key.
      if (BigInt(textOf(event, 'key')) === 0n) return;
      job.boundKeys.push({ key: textOf(event, 'key'), session: textOf(event, 'session'), transaction: event.txHash });
      return;
    case 'SealRemoved':
      job.escalated = true;
      job.unsealed = { key: textOf(event, 'key'), cause: countOf(event, 'cause') };
      return;
    case 'JobResigned':
      job.resignedAfter = countOf(event, 'heldSeconds');
      return;
    case 'DutyOpened':
    case 'DutyDischarged':
    case 'BondRefunded':
      return changeDuty(job, event);
    case 'VoucherPaid':
    case 'PrefixPaid':
      pay(job, event, event.name === 'VoucherPaid' ? 'voucher' : 'prefix', {
        provider: amountOf(event, 'cumulative') - job.paid,
      });
      job.paid = amountOf(event, 'cumulative');
      return;
    case 'CiphertextMissing':
      job.deposit = amountOf(event, 'deposit');
      return;
    case 'CiphertextAvailable':
      pay(job, event, 'deposit', { provider: job.deposit });
      job.deposit = 0n;
      return;
    case 'KeyRevealed':
      job.revealedKey = textOf(event, 'key');
      return;
    case 'JobEnded':
      return ended(job, event);
  }
}

function committed(job: ProjectedJob, event: ProjectedEvent): void {
  job.state = 'Committed';
  job.outcome = countOf(event, 'outcome');
  const borders = listOf(event, 'borders');
  // A run under former terms was told by its length and its end.
  const isFormer = borders.length === 0;
  job.upTo = isFormer ? countOf(event, 'upTo') : borders.length - 1;
  job.root = textOf(event, 'root');
  job.last = isFormer ? textOf(event, 'last') : borders.at(-1)!;
  job.delivery = textOf(event, 'delivery');
  job.sealedKeys = listOf(event, 'keys');
  job.sealedBy = job.sealedKeys.length === 0 ? null : textOf(event, 'sealer');
}

function changeDuty(job: ProjectedJob, event: ProjectedEvent): void {
  const segment = countOf(event, 'segment');
  const before = job.duties.get(segment) ?? { segment, challenger: null, deadline: null, bond: 0n, proved: false };
  if (event.name === 'DutyOpened') {
    const [challenger, deadline] = [textOf(event, 'challenger'), countOf(event, 'deadline')];
    job.duties.set(segment, { ...before, challenger, deadline, bond: amountOf(event, 'bond') });
  } else if (event.name === 'DutyDischarged') {
    pay(job, event, 'bond', { provider: before.bond });
    job.duties.set(segment, { ...before, bond: 0n, proved: true });
  } else {
    pay(job, event, 'bond', { challenger: amountOf(event, 'amount') });
    job.duties.set(segment, { ...before, bond: 0n });
  }
}

function ended(job: ProjectedJob, event: ProjectedEvent): void {
  job.state = jobStates[countOf(event, 'state')] ?? job.state;
  pay(job, event, 'end', {
    provider: amountOf(event, 'toProvider'),
    client: amountOf(event, 'toClient'),
    challenger: amountOf(event, 'toChallenger'),
    treasury: amountOf(event, 'burnt'),
  });
  pay(job, event, 'deposit', { client: job.deposit });
  job.deposit = 0n;
}

function pay(
  job: ProjectedJob,
  { txHash, blockNumber }: ProjectedEvent,
  kind: ProjectedPayment['kind'],
  amounts: Partial<Record<ProjectedPayment['to'], bigint>>,
): void {
  for (const [to, amount] of Object.entries(amounts) as [ProjectedPayment['to'], bigint][]) {
    if (amount > 0n) job.payments.push({ kind, to, amount, transaction: txHash, blockNumber });
  }
}
