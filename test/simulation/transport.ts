/** The wire between nodes, clients and control plane: it drops, doubles, delays and so reorders messages and answers. */
import { explain } from '../../apps/control-plane/src/core/problem/explain.js';
import type { Container } from './container.js';
import type { Faults } from './faults.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';

export type Answer<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'problem'; readonly code: string }
  /** Nobody knows whether the message arrived. */
  | { readonly kind: 'lost' };

/** A process that serves requests; null when it died meanwhile and nothing is answered. */
export interface Endpoint {
  serve<T>(handle: (services: Container) => Promise<T>): Promise<{ answer: Answer<T> } | null>;
}

const latencyMilliseconds = 20;
const timeoutMilliseconds = 15_000;
/** Long enough that a lease ends before a late message arrives. */
const delayMillisecondsMax = 90_000;

export class Transport {
  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
    private readonly faults: Faults,
  ) {}

  /** Sends one message; the answer comes back, or the sender gives up waiting. */
  call<T>(endpoint: Endpoint, handle: (services: Container) => Promise<T>): Promise<Answer<T>> {
    return this.scheduler.suspend<Answer<T>>((resume) => {
      this.scheduler.later(timeoutMilliseconds, () => resume({ kind: 'lost' }));
      if (!this.faults.strikes('message dropped', 0.01)) this.deliver(endpoint, handle, resume);
      if (this.faults.strikes('message duplicated', 0.01)) this.deliver(endpoint, handle, () => undefined);
    });
  }

  private deliver<T>(
    endpoint: Endpoint,
    handle: (services: Container) => Promise<T>,
    resume: (answer: Answer<T>) => void,
  ): void {
    this.scheduler.spawn(this.latency(), async () => {
      const outcome = await endpoint.serve(handle);
      if (outcome === null || this.faults.strikes('answer dropped', 0.01)) return;
      this.scheduler.later(this.latency(), () => resume(outcome.answer));
    });
  }

  private latency(): number {
    if (this.faults.strikes('message delayed', 0.005)) return this.random.fraction() * delayMillisecondsMax;
    return this.random.around(latencyMilliseconds);
  }
}

/** What a handler ended with, as the control plane would answer it. */
export async function answerOf<T>(handle: () => Promise<T>): Promise<{ answer: Answer<T>; thrown: unknown }> {
  try {
    return { answer: { kind: 'ok', value: await handle() }, thrown: null };
  } catch (thrown) {
    return { answer: { kind: 'problem', code: explain(thrown).code }, thrown };
  }
}
