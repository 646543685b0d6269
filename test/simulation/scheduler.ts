/**
 * Discrete events in virtual time. Exactly one task runs at a time; it runs until it suspends itself or ends, whatever
 * promises settle meanwhile, so a run depends on nothing but its seed. Tasks suspend at every message, pause and, with
 * the in-memory engine, at every statement: that is where they interleave.
 */

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => Promise<void> | void;
}

export class Scheduler {
  #now = 0;
  #order = 0;
  readonly #heap: Event[] = [];
  #endTurn: (() => void) | null = null;
  readonly failures: unknown[] = [];
  events = 0;

  /** Virtual milliseconds since the start. */
  get now(): number {
    return this.#now;
  }

  /** Calls `run` after a pause; it must not suspend. */
  later(milliseconds: number, run: () => void): void {
    this.push(milliseconds, run);
  }

  /** Starts a task after a pause. A task that throws ends the simulation. */
  spawn(milliseconds: number, task: () => Promise<void>): void {
    this.push(milliseconds, () =>
      this.turn(() => {
        task()
          .catch((error: unknown) => void this.failures.push(error))
          .finally(() => this.end());
      }),
    );
  }

  sleep(milliseconds: number): Promise<void> {
    return this.suspend((resume) => this.later(milliseconds, resume));
  }

  /** Suspends the running task until `resume` is called, later or at once; only the first call counts. */
  suspend<T = void>(register: (resume: (value: T) => void) => void): Promise<T> {
    return new Promise((resolve) => {
      let isResumed = false;
      register((value) => {
        if (isResumed) return;
        isResumed = true;
        this.push(0, () => this.turn(() => resolve(value)));
      });
      this.end();
    });
  }

  /** @returns false when nothing is left to do */
  async step(): Promise<boolean> {
    const event = this.pop();
    if (event === undefined) return false;
    this.#now = event.at;
    this.events += 1;
    await event.run();
    return true;
  }

  private turn(begin: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#endTurn = resolve;
      begin();
    });
  }

  private end(): void {
    const end = this.#endTurn;
    this.#endTurn = null;
    end?.();
  }

  private push(milliseconds: number, run: () => Promise<void> | void): void {
    const event = { at: this.#now + Math.max(0, milliseconds), order: (this.#order += 1), run };
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  private pop(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last!;
    return first;
  }
}

function before(left: Event, right: Event): boolean {
  return left.at === right.at ? left.order < right.order : left.at < right.at;
}
