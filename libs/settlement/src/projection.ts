/** All jobs and all money of the escrow, from its events alone (settlement §16, I14). */
import { jobStates, type JobState } from './client.js';
import type { EscrowEvent } from './events.js';

export interface ProjectedJob {
  state: JobState;
  readonly client: string;
  provider: string;
  readonly token: string;
  readonly price: bigint;
  paid: bigint;
  root: string | null;
  last: string | null;
  tier: number;
  sealedBy: string | null;
  /** Bond by segment of the duties that challengers opened. */
  readonly bonds: Map<string, bigint>;
  readonly proved: Set<string>;
  deposit: bigint;
  revealedKey: string | null;
}

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
      this.jobs.set(text('job'), openedJob(text, amount));
    } else if (event.job !== null) {
      const job = this.jobs.get(event.job);
      if (job !== undefined) applyToJob(job, event.name, text, amount);
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

  /** What the contract must hold of one token: I1 and I2 of settlement §15. */
  owed(token: string): bigint {
    let sum = 0n;
    for (const [account, credit] of this.#credits) if (account.startsWith(`${token}:`)) sum += credit;
    for (const [account, { free, locked }] of this.#stakes) {
      if (account.startsWith(`${token}:`)) sum += free + locked;
    }
    for (const job of this.jobs.values()) {
      if (job.token !== token) continue;
      if (isLive(job.state)) sum += job.price - job.paid + job.deposit;
      for (const bond of job.bonds.values()) sum += bond;
    }
    return sum;
  }
}

const isLive = (state: JobState) => jobStates.indexOf(state) <= jobStates.indexOf('Committed');

type Text = (name: string) => string;
type Amount = (name: string) => bigint;

function openedJob(text: Text, amount: Amount): ProjectedJob {
  return {
    state: 'Open',
    client: text('client'),
    provider: text('provider'),
    token: text('token'),
    price: amount('price'),
    paid: 0n,
    root: null,
    last: null,
    tier: 0,
    sealedBy: null,
    bonds: new Map(),
    proved: new Set(),
    deposit: 0n,
    revealedKey: null,
  };
}

function applyToJob(job: ProjectedJob, name: string, text: Text, amount: Amount): void {
  switch (name) {
    case 'JobAccepted':
      job.state = 'Accepted';
      job.provider = text('provider');
      return;
    case 'JobStarted':
      job.state = 'Started';
      return;
    case 'JobCommitted':
      job.state = 'Committed';
      job.root = text('root');
      job.last = text('last');
      job.tier = Number(amount('tier'));
      job.sealedBy = job.tier === 0 ? null : text('enclaveKey');
      return;
    case 'DutyOpened':
      job.bonds.set(text('segment'), amount('bond'));
      return;
    case 'DutyDischarged':
      job.bonds.delete(text('segment'));
      job.proved.add(text('segment'));
      return;
    case 'BondRefunded':
      job.bonds.delete(text('segment'));
      return;
    case 'VoucherPaid':
    case 'PrefixPaid':
      job.paid = amount('cumulative');
      return;
    case 'CiphertextMissing':
      job.deposit = amount('deposit');
      return;
    case 'CiphertextAvailable':
      job.deposit = 0n;
      return;
    case 'KeyRevealed':
      job.revealedKey = text('key');
      return;
    case 'JobEnded':
      job.state = jobStates[Number(amount('state'))] ?? job.state;
      return;
  }
}
