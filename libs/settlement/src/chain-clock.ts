/**
 * What time the chain may have by now. Blocks may be long in coming, and the chain may be hours apart from the clock of this
 * machine, so what has passed since a block came is counted. A head says as much, or it is doubted: it may be a lie, of
 * another chain, or of a node that is catching up. contracts/SPEC.md §18a, Time.
 */
import { Suspicion } from './lag.js';

interface Block {
  /** Unix seconds. */
  readonly timestamp: number;
}

interface Seen extends Block {
  readonly seenAt: number;
  /** When the chain was last asked before it had this block; null: never. */
  readonly notBefore: number | null;
}

interface ChainTime {
  /** A block that came now would hardly have an earlier one; 0: nobody knows yet. */
  readonly least: number;
  /** A block that came now would not have a later one. */
  readonly most: number;
}

/** Seconds by which the time of a block may be off. */
const jitter = 30;
/** Seconds after which a node that was catching up would have shown it. */
const paceSeconds = 600;

/** Unix seconds of this machine. */
const wall = (): number => Date.now() / 1000;
/** Seconds that only go on. */
const steady = (): number => performance.now() / 1000;

export class ChainClock {
  #believed: Line | null = null;
  /** What heads say instead, as long as every one does. */
  #doubted: Line | null = null;

  /** @param head  the latest block, as the chain says now; nodes behind one endpoint may say an earlier one again */
  at(head: Block): ChainTime {
    const now = steady();
    if (this.#believed?.takes(head, now) === true) this.#doubted = null;
    else this.#doubt(head, now);
    const least = this.#believed?.least(now) ?? 0;
    const most = this.#doubted === null ? this.#believed!.most(now) : Math.max(least, head.timestamp, wall());
    return { least: Math.floor(least), most: Math.ceil(most) };
  }

  #doubt(head: Block, now: number): void {
    if (this.#doubted?.takes(head, now) !== true) this.#doubted = new Line(head, now);
    const [line, before] = [this.#doubted, this.#believed];
    if (!line.lasts()) return;
    // A node that is behind says less, and so does every node after a lie: it must be one that has all blocks.
    if (before !== null && line.least(now) < before.least(now) && !line.keepsPace(now)) return;
    this.#believed = line;
    this.#doubted = null;
  }
}

/** Heads that go on as fast as the clock of this machine, from the first of them on. */
class Line {
  readonly #first: Seen;
  readonly #looks = new Suspicion();
  #newest: Seen;
  #lookedAt: number;

  constructor({ timestamp }: Block, now: number) {
    this.#first = { timestamp, seenAt: now, notBefore: null };
    this.#newest = this.#first;
    this.#lookedAt = now;
  }

  /** @returns whether the head may be of it */
  takes({ timestamp }: Block, now: number): boolean {
    // Of nodes behind one endpoint some are blocks behind. What they say tells nothing of when the next block came.
    if (timestamp < this.#newest.timestamp) return timestamp >= this.#newest.timestamp - jitter;
    const isNew = timestamp > this.#newest.timestamp;
    if (timestamp > timeAfter(this.#first, now) + jitter) return false;
    // A block that came after the last look is no earlier than that look.
    if (isNew && timestamp < timeAfter(this.#first, this.#lookedAt) - jitter) return false;
    if (isNew) this.#newest = { timestamp, seenAt: now, notBefore: this.#lookedAt };
    this.#lookedAt = now;
    return true;
  }

  /** To be asked once a look. */
  lasts(): boolean {
    return this.#looks.lasts(true);
  }

  /** Whether its nodes have all blocks: one that is catching up gains, and one that stands still has no new ones. */
  keepsPace(now: number): boolean {
    return this.#newest.notBefore !== null && now - this.#first.seenAt > paceSeconds;
  }

  least(now: number): number {
    return Math.max(timeAfter(this.#first, now), timeAfter(this.#newest, now));
  }

  most(now: number): number {
    const { timestamp, notBefore } = this.#newest;
    const latest = notBefore === null ? 0 : timestamp + now - notBefore;
    return Math.max(this.least(now), latest, this.keepsPace(now) ? 0 : wall());
  }
}

function timeAfter({ timestamp, seenAt }: Seen, now: number): number {
  return timestamp + now - seenAt;
}
