/** A simulated chain with one escrow contract: it enforces the contract's order of calls, pays once, and reorganises. */
import { CollateralError } from '#attestation';
import type { BlockRef, ChainReader, EscrowEvent } from '#libs/settlement';
import { hex, sha256 } from '#test/made-session';
import type { Faults } from './faults.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';
import type { SimulatedJob } from './work.js';

type Pending = Pick<EscrowEvent, 'job' | 'name' | 'args'>;

interface Escrow {
  state: 'open' | 'accepted' | 'started' | 'ended';
  /** Unix seconds of the moment at which the present state runs out. */
  until: number;
  readonly acceptBy: number;
  /** Digest of the delivery that was paid for; null when none was. */
  paid: string | null;
}

const blockMilliseconds = 4000;
const [settled, aborted, abandoned] = ['5', '7', '8'];
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
      this.mine();
      if (this.#blocks.length > 8 && this.faults.strikes('chain reorganised', 0.02)) this.reorganise();
    }
  }

  open({ escrowId, input }: SimulatedJob): void {
    const acceptBy = Number(input.terms['acceptBy']);
    this.escrows.set(escrowId, { state: 'open', until: acceptBy, acceptBy, paid: null });
    const nobody = `0x${'00'.repeat(20)}`;
    this.emit(escrowId, 'JobOpened', { client: nobody, provider: nobody, token: nobody, price: '1000' });
  }

  /** @returns false when the contract refuses */
  accept(escrowId: string, provider: string): boolean {
    return this.move(escrowId, 'open', 'accepted', 'JobAccepted', { provider }, 120);
  }

  start(escrowId: string): boolean {
    return this.move(escrowId, 'accepted', 'started', 'JobStarted', {}, 600);
  }

  /** Commits and, as there is nobody to object, pays. */
  commit(escrowId: string, delivery: string): boolean {
    if (!this.move(escrowId, 'started', 'ended', 'JobCommitted', { outcome: '0', upTo: '1', tier: '0' }, 0))
      return false;
    this.escrows.get(escrowId)!.paid = delivery;
    this.emit(escrowId, 'JobEnded', ended(settled));
    return true;
  }

  abort(escrowId: string): boolean {
    return this.move(escrowId, 'open', 'ended', 'JobEnded', ended(aborted), 0);
  }

  stateOf(escrowId: string): Escrow['state'] | 'none' {
    return this.escrows.get(escrowId)?.state ?? 'none';
  }

  async headNumber(): Promise<number> {
    await this.io();
    return this.#blocks.length - 1;
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
        const txHash = hex(sha256(`${hash} ${logIndex}`));
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

  private timeOut(): void {
    for (const [escrowId, escrow] of this.escrows) {
      if (escrow.state === 'ended' || this.at <= escrow.until) continue;
      const end = escrow.state === 'open' ? aborted : abandoned;
      escrow.state = 'ended';
      this.emit(escrowId, 'JobEnded', ended(end));
    }
  }

  private mine(): void {
    const hash = hex(sha256(`block ${this.#fork} ${this.#blocks.length}`));
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
