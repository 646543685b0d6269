/**
 * Between replicas, over NATS: wake-ups, so that who waits here hears of what happened there, and the outbox's events.
 * Nothing depends on it. Without it every waiter looks at the database again after a moment, and events stay in the
 * outbox until the server has taken them.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, nanos, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { OutboxMessage } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import { eventStream, natsOptions, natsPayloadBytesMin, subject } from '#libs/wire';
import type { Config } from '../config/config.js';
import { CONFIG, LOGGER } from '../config/tokens.js';
import { dispatchTopic, jobTopic, Signals } from '../timing/signals.js';
import { DeadLetters } from './dead-letters.js';

const acknowledgedWithinMs = 2000;
const eventsKeptMs = 24 * 3_600_000;
const eventsKeptBytes = 256 * 2 ** 20;
/** The server drops an event that it was given within this time. */
const duplicateWindowMs = 120_000;

@Injectable()
export class Bus implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Resolves when the server was reached for the first time; null: there is none. */
  readonly connection: Promise<NatsConnection> | null;
  #connected: NatsConnection | null = null;
  #hasStream = false;

  constructor(
    private readonly signals: Signals,
    private readonly letters: DeadLetters,
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { nats } = config;
    this.connection =
      nats === null
        ? null
        : natsOptions(nats, 'veritrain control plane').then((options) => connect({ ...options, noEcho: true }));
    this.connection?.catch(() => undefined);
  }

  onApplicationBootstrap(): void {
    this.connection?.then(
      (connection) => this.join(connection),
      (error: unknown) => this.logger.error('NATS refuses this control plane', { error }),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.signals.onRaise(() => undefined);
    await this.#connected?.close();
  }

  /** True where events are to be handed to a server, reached or not. */
  get isUsed(): boolean {
    return this.connection !== null;
  }

  /** @throws Error when the server did not acknowledge every one of them: hand them over again */
  async publish(messages: readonly OutboxMessage[]): Promise<void> {
    if (this.#connected === null || this.#connected.isClosed()) throw new Error('NATS is not connected');
    if (!this.#hasStream) await this.ensureStream(this.#connected);
    const stream = jetstream(this.#connected);
    await Promise.all(
      messages.map(({ id, topic, subject: about, payload, createdAt }) =>
        stream.publish(subject.event(topic), JSON.stringify({ id, topic, subject: about, payload, createdAt }), {
          // Of one database among those that may share a server.
          msgID: `${about} ${id}`,
          timeout: acknowledgedWithinMs,
        }),
      ),
    );
  }

  private join(connection: NatsConnection): void {
    this.#connected = connection;
    // None while it is being reached anew.
    const payloadBytesMax = connection.info?.max_payload ?? natsPayloadBytesMin;
    if (payloadBytesMax < natsPayloadBytesMin) {
      this.logger.warn('NATS takes smaller messages than nodes may send', { payloadBytesMax, natsPayloadBytesMin });
    }
    this.signals.onRaise((topic) => {
      // A wake-up that cannot leave is not missed: who waits looks again.
      if (!connection.isClosed()) connection.publish(subject.wake(topic));
    });
    const wakePrefix = subject.wake('');
    this.listen(connection, subject.wakes, (message) => {
      this.signals.hear(message.subject.slice(wakePrefix.length).replace('.', ':'));
    });
    this.listen(connection, subject.events, (message) => this.heard(message.subject, message.data));
    void this.watch(connection);
  }

  /** A subject that this user may not hear is told of; what the callback throws would end the reading of everything. */
  private listen(connection: NatsConnection, about: string, hear: (message: Msg) => void): void {
    connection.subscribe(about, {
      callback: (error, message) => {
        if (error === null) return hear(message);
        this.logger.error('NATS lets this control plane not hear a subject', { subject: about, error });
      },
    });
  }

  /** An event of any replica wakes who follows that job, and who waits for work. */
  private heard(topic: string, data: Uint8Array): void {
    try {
      const { subject: about } = JSON.parse(new TextDecoder().decode(data)) as { subject?: unknown };
      if (typeof about === 'string') this.signals.hear(jobTopic(about));
      this.signals.hear(dispatchTopic);
    } catch {
      this.logger.warn('an event that is no JSON was heard on NATS');
      const detail = { expected: 'an event in JSON', got: 'other bytes', rule: 'libs/wire, nats.ts' };
      const error = { code: 'MESSAGE_MALFORMED', detail };
      void this.letters.put({ source: 'event', pattern: topic, actor: null, error, payload: Buffer.from(data) });
    }
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') this.logger.warn('NATS is away');
      // The server may have come back without what it knew.
      if (type === 'reconnect') this.#hasStream = false;
    }
  }

  private async ensureStream(connection: NatsConnection): Promise<void> {
    const manager = await jetstreamManager(connection, { timeout: acknowledgedWithinMs });
    await manager.streams.add({
      name: eventStream,
      subjects: [subject.events],
      max_age: nanos(eventsKeptMs),
      max_bytes: eventsKeptBytes,
      duplicate_window: nanos(duplicateWindowMs),
    });
    this.#hasStream = true;
  }
}
