/**
 * Where nodes wait for work, in one line for each kind of node: nodes of a kind are offered the same jobs. One look into
 * the queue serves the head of a line, as many nodes as it finds jobs for; who gets nothing stays. A line looks when a
 * node joins it, at a signal, and now and then by itself, for what another replica did without saying so; two looks of a line
 * are a moment apart, so that one finds jobs for many.
 */
import { Injectable } from '@nestjs/common';
import { apartMilliseconds } from '../batches.js';
import { dispatchTopic, Signals } from '../events/signals.js';

const looksAtOnce = 3;
const nodesOfALook = 64;
const lookAgainMilliseconds = 1000;

/** @returns for each asker what it gets, or null */
export type Look<A, T> = (askers: readonly A[]) => Promise<readonly (T | null)[]>;

interface Member {
  readonly asker: unknown;
  /** Set when it waits no longer: the next look is its last. */
  isDue: boolean;
  readonly settle: (found: unknown) => void;
  readonly fail: (error: unknown) => void;
}

interface Line {
  readonly kind: string;
  readonly members: Set<Member>;
  readonly look: Look<never, unknown>;
  /** Something happened since the last look began. */
  isStirred: boolean;
  /** The last look found too little, and nothing was heard since. */
  isEmpty: boolean;
  isLooking: boolean;
  /** Performance time at which the last look began. */
  lookedAt: number;
}

@Injectable()
export class Turnstile {
  readonly #lines = new Map<string, Line>();
  readonly #ready: Line[] = [];
  #looks = 0;
  #clock: NodeJS.Timeout | null = null;

  constructor(signals: Signals) {
    signals.on(dispatchTopic, () => this.stirAll());
  }

  /**
   * @param kind  members of one kind share looks; the look of the first in line serves
   * @param gone  set when the caller has hung up
   * @returns what a look found for the asker; null after `milliseconds`. Who cannot wait has a look of its own waited for
   */
  wait<A, T>(kind: string, asker: A, milliseconds: number, gone: AbortSignal, look: Look<A, T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      if (gone.aborted) return resolve(null);
      const line = this.lineOf(kind, look);
      const leave = (): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', hangUp);
        line.members.delete(member);
        this.close(line);
      };
      const member: Member = {
        asker,
        isDue: milliseconds <= 0,
        settle: (found) => (leave(), resolve(found as T | null)),
        fail: (error) => (leave(), reject(error as Error)),
      };
      const hangUp = (): void => member.settle(null);
      const timer = member.isDue ? undefined : setTimeout(() => this.end(line, member), milliseconds);
      gone.addEventListener('abort', hangUp, { once: true });
      line.members.add(member);
      // What comes now is heard of; who cannot wait looks for itself.
      if (member.isDue || !line.isEmpty) this.stir(line);
      this.#clock ??= setInterval(() => this.stirAll(), lookAgainMilliseconds).unref();
    });
  }

  private lineOf<A, T>(kind: string, look: Look<A, T>): Line {
    let line = this.#lines.get(kind);
    if (line === undefined) {
      line = {
        kind,
        members: new Set(),
        look,
        isStirred: false,
        isEmpty: false,
        isLooking: false,
        lookedAt: -Infinity,
      };
      this.#lines.set(kind, line);
    }
    return line;
  }

  /** Forgets a line in which nobody stands. */
  private close(line: Line): void {
    if (line.members.size === 0 && !line.isLooking) this.#lines.delete(line.kind);
  }

  /** Its time is up: at once, or with the answer of the look that runs. */
  private end(line: Line, member: Member): void {
    member.isDue = true;
    if (!line.isLooking) member.settle(null);
  }

  private stirAll(): void {
    for (const line of this.#lines.values()) {
      line.isEmpty = false;
      this.stir(line);
    }
    if (this.#lines.size > 0 || this.#clock === null) return;
    clearInterval(this.#clock);
    this.#clock = null;
  }

  private stir(line: Line): void {
    line.isStirred = true;
    if (line.isLooking) return;
    line.isLooking = true;
    const early = line.lookedAt + apartMilliseconds - performance.now();
    if (early > 0) setTimeout(() => this.enter(line), early);
    else this.enter(line);
  }

  private enter(line: Line): void {
    this.#ready.push(line);
    if (this.#looks < looksAtOnce) void this.serve();
  }

  private async serve(): Promise<void> {
    this.#looks += 1;
    for (let line = this.#ready.shift(); line !== undefined; line = this.#ready.shift()) {
      await this.lookFor(line);
      line.isLooking = false;
      if (line.members.size === 0) this.close(line);
      else if (line.isStirred) this.stir(line);
    }
    this.#looks -= 1;
  }

  /** One look. Where everybody whom it was for got something, there may be more; where somebody did not, there is not. */
  private async lookFor(line: Line): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    line.isStirred = false;
    line.lookedAt = performance.now();
    const standing = [...line.members];
    const served = standing.slice(0, nodesOfALook);
    if (served.length === 0) return;
    try {
      const found = await line.look(served.map(({ asker }) => asker as never));
      served.forEach((member, index) => found[index] !== null && member.settle(found[index]));
      line.isEmpty = found.includes(null) && !line.isStirred;
      if (found.includes(null)) standing.forEach((member) => member.isDue && member.settle(null));
      else line.isStirred = true;
    } catch (error) {
      for (const member of served) member.fail(error);
    }
  }
}
