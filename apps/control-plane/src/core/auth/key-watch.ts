/** Ends the streams of keys and sessions that have ended: they are looked at when a stream opens, and this looks again. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '#libs/telemetry';
import { LOGGER } from '../config/tokens.js';
import { Streams } from '../overload/streams.js';
import { Periodic } from '../timing/periodic.js';
import { keysTopic, Signals } from '../timing/signals.js';
import { ApiKeys } from './api-keys.js';
import { Sessions } from './sessions.js';

/** Of a revocation at a replica that this one does not hear. */
const lookMilliseconds = 500;

@Injectable()
export class KeyWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;

  constructor(
    private readonly keys: ApiKeys,
    private readonly sessions: Sessions,
    private readonly streams: Streams,
    signals: Signals,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Periodic('key watch', lookMilliseconds, () => this.look(), logger);
    signals.on(keysTopic, () => this.#loop.kick());
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  async look(): Promise<void> {
    const ids = this.streams.keyIds;
    if (ids.length === 0) return;
    for (const id of await this.keys.ended(ids)) this.streams.end(id);
    const { sessions } = this.streams;
    if (sessions.length === 0) return;
    for (const digest of await this.sessions.ended(sessions)) this.streams.endSession(digest);
  }
}
