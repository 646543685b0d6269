/**
 * Nodes that wait for work, grouped by kind: nodes of a kind are offered the same jobs. One query of the job queue serves
 * the nodes that have waited longest, as many as it finds jobs for; the others stay. A group queries when a node joins it,
 * at a signal, and once a second, for what another replica did without a signal. Two queries of a group are a pause apart,
 * so that one finds jobs for many.
 */
import { Injectable } from '@nestjs/common';
import { apartMilliseconds } from '../core/timing/batches.js';
import { dispatchTopic, Signals } from '../core/timing/signals.js';

const queriesAtOnce = 3;
const nodesOfAQuery = 64;
const queryAgainMilliseconds = 1000;

/** @returns for each node what it gets, or null */
export type Query<A, T> = (nodes: readonly A[]) => Promise<readonly (T | null)[]>;

interface Member {
  readonly node: unknown;
  /** Set when it waits no longer: the next query is its last. */
  isDue: boolean;
  readonly settle: (found: unknown) => void;
  readonly fail: (error: unknown) => void;
}

interface Group {
  readonly kind: string;
  readonly members: Set<Member>;
  readonly query: Query<never, unknown>;
  /** A signal came since the last query began. */
  isSignalled: boolean;
  /** The last query found too little, and no signal came since. */
  isEmpty: boolean;
  isQuerying: boolean;
  /** Performance time at which the last query began. */
  queriedAt: number;
}

@Injectable()
export class WaitingNodes {
  readonly #groups = new Map<string, Group>();
  readonly #ready: Group[] = [];
  #queries = 0;
  #clock: NodeJS.Timeout | null = null;

  constructor(signals: Signals) {
    signals.on(dispatchTopic, () => this.signalAll());
  }

  /**
   * @param kind  members of one kind share queries; the query of the first serves
   * @param gone  set when the caller has hung up
   * @returns what a query found for the node; null after `milliseconds`, at the earliest after one query begun since
   */
  wait<A, T>(kind: string, node: A, milliseconds: number, gone: AbortSignal, query: Query<A, T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      if (gone.aborted) return resolve(null);
      const group = this.groupOf(kind, query);
      const leave = (): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', hangUp);
        group.members.delete(member);
        this.close(group);
      };
      const member: Member = {
        node,
        isDue: milliseconds <= 0,
        settle: (found) => (leave(), resolve(found as T | null)),
        fail: (error) => (leave(), reject(error as Error)),
      };
      const hangUp = (): void => member.settle(null);
      const timer = member.isDue ? undefined : setTimeout(() => this.end(group, member), milliseconds);
      gone.addEventListener('abort', hangUp, { once: true });
      group.members.add(member);
      // An empty queue signals what comes; a node that cannot wait has a query made at once.
      if (member.isDue || !group.isEmpty) this.signal(group);
      this.#clock ??= setInterval(() => this.signalAll(), queryAgainMilliseconds).unref();
    });
  }

  private groupOf<A, T>(kind: string, query: Query<A, T>): Group {
    let group = this.#groups.get(kind);
    if (group === undefined) {
      group = {
        kind,
        members: new Set(),
        query,
        isSignalled: false,
        isEmpty: false,
        isQuerying: false,
        queriedAt: -Infinity,
      };
      this.#groups.set(kind, group);
    }
    return group;
  }

  /** Forgets a group without members. */
  private close(group: Group): void {
    if (group.members.size === 0 && !group.isQuerying) this.#groups.delete(group.kind);
  }

  /** Its time is up: it leaves at once, or with the answer of the query that runs. */
  private end(group: Group, member: Member): void {
    member.isDue = true;
    if (!group.isQuerying) member.settle(null);
  }

  private signalAll(): void {
    for (const group of this.#groups.values()) {
      group.isEmpty = false;
      this.signal(group);
    }
    if (this.#groups.size > 0 || this.#clock === null) return;
    clearInterval(this.#clock);
    this.#clock = null;
  }

  private signal(group: Group): void {
    group.isSignalled = true;
    if (group.isQuerying) return;
    group.isQuerying = true;
    const early = group.queriedAt + apartMilliseconds - performance.now();
    if (early > 0) setTimeout(() => this.enter(group), early);
    else this.enter(group);
  }

  private enter(group: Group): void {
    this.#ready.push(group);
    if (this.#queries < queriesAtOnce) void this.serve();
  }

  private async serve(): Promise<void> {
    this.#queries += 1;
    for (let group = this.#ready.shift(); group !== undefined; group = this.#ready.shift()) {
      await this.query(group);
      group.isQuerying = false;
      if (group.members.size === 0) this.close(group);
      else if (group.isSignalled) this.signal(group);
    }
    this.#queries -= 1;
  }

  /** One query. Where every member got a job there may be more jobs; where one did not, there are none. */
  private async query(group: Group): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    group.isSignalled = false;
    group.queriedAt = performance.now();
    const standing = [...group.members];
    const served = standing.slice(0, nodesOfAQuery);
    if (served.length === 0) return;
    try {
      const found = await group.query(served.map(({ node }) => node as never));
      served.forEach((member, index) => found[index] !== null && member.settle(found[index]));
      group.isEmpty = found.includes(null) && !group.isSignalled;
      if (found.includes(null)) standing.forEach((member) => member.isDue && member.settle(null));
      else group.isSignalled = true;
    } catch (error) {
      for (const member of served) member.fail(error);
    }
  }
}
