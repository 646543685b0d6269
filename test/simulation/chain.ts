/**
 * A simulated chain with one escrow contract: it enforces the contract's order of calls, waits for the proofs that are due,
 * pays once, and reorganises.
 */
import { CollateralError, to0x } from '#attestation/base';
import { sampleOf, type BlockRef, type ChainReader, type EscrowEvent } from '#libs/settlement';
import { sha256 } from '#test/made-session';
import type { Faults } from './faults.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';
import type { SimulatedJob } from './work.js';

type Pending = Pick<EscrowEvent, 'job' | 'name' | 'args'>;

interface Escrow {
  state: 'open' | 'accepted' | 'started' | 'committed' | 'ended';
  /** Unix seconds of the moment at which the present state runs out. */
  until: number;
  readonly acceptBy: number;
  /** Digest of the delivery that was paid for; null when none was. */
  paid: string | null;
  /** Of a committed run: the delivery to be paid for, and the segments to be proved before; null until they are drawn. */
  run: { readonly job: SimulatedJob; readonly delivery: string; due: Set<number> | null } | null;
}

const blockMilliseconds = 4000;
const proveSeconds = 900;
const [settled, aborted, abandoned, slashed] = ['5', '7', '8', '10'];
const ended = (state: string) => ({ state, toProvider: '0', toClient: '0', toChallenger: '0', burnt: '0' });

export class SimulatedChain implements ChainReader {
  readonly contract = 'simulated';
  readonly escrows = new Map<string, Escrow>();
  #blocks: { hash: string; events: Pending[] }[] = [];
  #pending: Pending[] = [];
  #fork = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
    private readonly faults: Faults,
    private readonly startSeconds: number,
  ) {
    this.mine();
  }

  get at(): number {
    return this.startSeconds + Math.floor(this.scheduler.now / 1000);
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.scheduler.sleep(blockMilliseconds);
      this.timeOut();
      this.draw();
      this.mine();
      if (this.#blocks.length > 8 && this.faults.strikes('chain reorganised', 0.02)) this.reorganise();
    }
  }

  open({ escrowId, input }: SimulatedJob): void {
    const acceptBy = Number(input.terms['acceptBy']);
    this.escrows.set(escrowId, { state: 'open', until: acceptBy, acceptBy, paid: null, run: null });
    const nobody = `0x${'00'.repeat(20)}`;
    this.emit(escrowId, 'JobOpened', { client: nobody, provider: nobody, token: nobody, price: '1000' });
  }

  /** Accepts and starts, as far as the contract lets a provider. */
  engage(escrowId: string, provider: string): void {
    this.move(escrowId, 'open', 'accepted', 'JobAccepted', { provider }, 120);
    this.move(escrowId, 'accepted', 'started', 'JobStarted', {}, 600);
  }

  /** Commits and, as there is nobody to object, pays as soon as what is due is proved. */
  commit(job: SimulatedJob, delivery: string): void {
    const { escrowId, kind } = job;
    const segments = job.borders.length - 1;
    const run = { outcome: '0', root: '0x', delivery, sealer: '0x', keys: [], borders: job.borders.map(to0x) };
    if (!this.move(escrowId, 'started', 'committed', 'JobCommitted', run, proveSeconds)) return;
    const escrow = this.escrows.get(escrowId)!;
    const isWhole = kind === 'zk' || kind === 'tee+zk';
    const all = isWhole ? Array.from({ length: segments }, (_, index) => index) : [];
    escrow.run = { job, delivery, due: kind === 'sampled' ? null : new Set(all) };
    if (isWhole || kind === 'sampled') this.emit(escrowId, 'SetDue', { all: isWhole, deadline: String(escrow.until) });
    this.pay(escrowId, escrow);
  }

  /** @returns whether the proof need not be brought again */
  discharge(escrowId: string, segment: number): boolean {
    const escrow = this.escrows.get(escrowId)!;
    if (escrow.state !== 'committed') return escrow.state === 'ended';
    const { due } = escrow.run!;
    if (due === null) return false;
    if (!due.delete(segment)) return true;
    this.emit(escrowId, 'DutyDischarged', { segment: String(segment) });
    this.pay(escrowId, escrow);
    return true;
  }

  abort(escrowId: string): boolean {
    return this.move(escrowId, 'open', 'ended', 'JobEnded', ended(aborted), 0);
  }

  async head(): Promise<BlockRef> {
    await this.io();
    return { number: this.#blocks.length - 1, hash: this.#blocks.at(-1)!.hash };
  }

  async block(number: number): Promise<BlockRef | null> {
    await this.io();
    const block = this.#blocks[number];
    return block === undefined ? null : { number, hash: block.hash };
  }

  async events(fromBlock: number, toBlock: number): Promise<EscrowEvent[]> {
    await this.io();
    return this.#blocks.slice(fromBlock, toBlock + 1).flatMap(({ hash, events }, index) =>
      events.map((event, logIndex) => {
        const txHash = to0x(sha256(`${hash} ${logIndex}`));
        return { ...event, blockNumber: fromBlock + index, blockHash: hash, logIndex, txHash };
      }),
    );
  }

  close(): void {}

  private async io(): Promise<void> {
    await this.scheduler.sleep(this.random.around(10));
    if (!this.faults.strikes('chain away', 0.005)) return;
    throw new CollateralError('RPC_UNAVAILABLE', { expected: 'an answer', got: 'none', rule: 'simulation' });
  }

  private move(
    escrowId: string,
    from: Escrow['state'],
    to: Escrow['state'],
    event: string,
    args: EscrowEvent['args'],
    seconds: number,
  ): boolean {
    const escrow = this.escrows.get(escrowId);
    if (escrow === undefined || escrow.state !== from || this.at > escrow.until) return false;
    escrow.state = to;
    escrow.until = this.at + seconds;
    this.emit(escrowId, event, args);
    return true;
  }

  private emit(escrowId: string, name: string, args: EscrowEvent['args']): void {
    this.#pending.push({ job: escrowId, name, args });
  }

  private pay(escrowId: string, escrow: Escrow): void {
    if (escrow.run?.due?.size !== 0) return;
    escrow.state = 'ended';
    escrow.paid = escrow.run.delivery;
    this.emit(escrowId, 'JobEnded', ended(settled));
  }

  /** A block after the commitment decides what of a sampled job is to be proved. */
  private draw(): void {
    for (const [escrowId, { state, run, until }] of this.escrows) {
      if (state !== 'committed' || run === null || run.due !== null) continue;
      const seed = to0x(this.random.bytes(32));
      run.due = new Set(sampleOf(seed, run.job.samples, run.job.borders.length - 1));
      this.emit(escrowId, 'SampleDrawn', { seed, fromBlock: false, deadline: String(until) });
    }
  }

  private timeOut(): void {
    for (const [escrowId, escrow] of this.escrows) {
      if (escrow.state === 'ended' || this.at <= escrow.until) continue;
      const end = escrow.state === 'open' ? aborted : escrow.state === 'committed' ? slashed : abandoned;
      escrow.state = 'ended';
      this.emit(escrowId, 'JobEnded', ended(end));
    }
  }

  private mine(): void {
    const hash = to0x(sha256(`block ${this.#fork} ${this.#blocks.length}`));
    this.#blocks.push({ hash, events: this.#pending });
    this.#pending = [];
  }

  /** Takes the newest blocks back; their calls are included again, in the same order, in the blocks that follow. */
  private reorganise(): void {
    const gone = this.#blocks.splice(-this.random.whole(1, 5));
    this.#fork += 1;
    this.#pending = [...gone.flatMap(({ events }) => events), ...this.#pending];
    for (const _block of gone) this.mine();
    this.mine();
  }
}
