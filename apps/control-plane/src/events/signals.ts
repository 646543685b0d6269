/** Wakes whoever waits for a topic in this process. A hint only: every waiter looks at the database again. */
import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

@Injectable()
export class Signals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  raise(topic: string): void {
    this.#emitter.emit(topic);
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
export const jobTopic = (jobId: string): string => `job:${jobId}`;
