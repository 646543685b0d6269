/** Wakes whoever waits for a topic. A hint only: every waiter looks at the database again. */
import { Injectable } from '@nestjs/common';

type Listener = () => void;

@Injectable()
export class Signals {
  /** Sets, for thousands may wait for one topic and each leaves by itself. */
  readonly #listeners = new Map<string, Set<Listener>>();

  #raised: (topic: string) => void = () => undefined;

  /** Wakes this process, and others where a listener carries it there. */
  raise(topic: string): void {
    this.hear(topic);
    this.#raised(topic);
  }

  /** Wakes this process alone. */
  hear(topic: string): void {
    for (const listener of [...(this.#listeners.get(topic) ?? [])]) listener();
  }

  onRaise(listener: (topic: string) => void): void {
    this.#raised = listener;
  }

  /** @returns stops listening */
  on(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
    };
  }

  /** Resolves at the next signal of the topic, after `milliseconds`, or when aborted. */
  wait(topic: string, milliseconds: number, abort?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        stop();
        abort?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      const stop = this.on(topic, done);
      if (abort?.aborted === true) done();
      else abort?.addEventListener('abort', done, { once: true });
    });
  }
}

export const dispatchTopic = 'dispatch';
/** An API key was revoked. */
export const keysTopic = 'keys';
export const jobTopic = (jobId: string): string => `job:${jobId}`;
