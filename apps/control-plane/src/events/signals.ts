/** Wakes whoever waits for a topic. A hint only: every waiter looks at the database again. */
import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

@Injectable()
export class Signals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  #raised: (topic: string) => void = () => undefined;

  /** Wakes this process, and others where a listener carries it there. */
  raise(topic: string): void {
    this.hear(topic);
    this.#raised(topic);
  }

  /** Wakes this process alone. */
  hear(topic: string): void {
    this.#emitter.emit(topic);
  }

  onRaise(listener: (topic: string) => void): void {
    this.#raised = listener;
  }

  /** @returns stops listening */
  on(topic: string, listener: () => void): () => void {
    this.#emitter.on(topic, listener);
    return () => void this.#emitter.off(topic, listener);
  }

  /** Resolves at the next signal of the topic, after `milliseconds`, or when aborted. */
  wait(topic: string, milliseconds: number, abort?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#emitter.off(topic, done);
        abort?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#emitter.once(topic, done);
      if (abort?.aborted === true) done();
      else abort?.addEventListener('abort', done, { once: true });
    });
  }
}

export const dispatchTopic = 'dispatch';
/** An API key was revoked. */
export const keysTopic = 'keys';
export const jobTopic = (jobId: string): string => `job:${jobId}`;
