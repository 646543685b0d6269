/**
 * How a process reaches the NATS server: as which nkey, over what, and how it comes back after the server was away.
 * The server is never trusted with more than delivery: whoever needs a message to arrive keeps it until it has.
 */
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { frameCharactersMax } from './limits.js';

export interface NatsAddress {
  /** nats:// or tls://; more than one for a cluster. */
  readonly urls: readonly string[];
  /** nkey user seed, `SU…`; null for a server that asks for none. */
  readonly seed: string | null;
  /** PEM of the authority of the server's certificate; null for those of the system. */
  readonly ca: string | null;
}

/** What Nest's transport and the client itself are given: tries for ever, answers late rather than never. */
export async function natsOptions(address: NatsAddress, name: string): Promise<NodeConnectionOptions> {
  const { nkeyAuthenticator } = await import('@nats-io/transport-node');
  const { urls, seed, ca } = address;
  const isSecure = urls.some((url) => url.startsWith('tls:'));
  return {
    servers: urls.map((url) => url.replace(/^(nats|tls):\/\//, '')),
    name,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    waitOnFirstConnect: true,
    pingInterval: 5000,
    maxPingOut: 2,
    ...(seed === null
      ? {}
      : {
          authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
          inboxPrefix: await inboxOf(seed),
        }),
    ...(isSecure ? { tls: ca === null ? {} : { ca } } : {}),
  };
}

/** Inboxes of one nkey alone, so that the server can keep everybody else from listening at them. */
async function inboxOf(seed: string): Promise<string> {
  return `_INBOX.${await nkeyOf(seed)}`;
}

/** The public form, `U…`, of a seed. @throws Error when it is none */
async function nkeyOf(seed: string): Promise<string> {
  const { nkeys } = await import('@nats-io/transport-node');
  return nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey();
}

/** @returns a fresh nkey user: seed and public form */
export async function newNkey(): Promise<{ readonly seed: string; readonly nkey: string }> {
  const { nkeys } = await import('@nats-io/transport-node');
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), nkey: pair.getPublicKey() };
}

/** What a server must let through in one message, bytes; `max_payload` of its configuration. */
export const natsPayloadBytesMin = frameCharactersMax;

/** Subjects between replicas. A wake-up says only where to look; an event is an outbox row. */
export const subject = {
  wake: (topic: string): string => `veritrain.wake.${topic.replace(':', '.')}`,
  event: (topic: string): string => `veritrain.event.${topic}`,
  wakes: 'veritrain.wake.>',
  events: 'veritrain.event.>',
} as const;

/** The stream of events. It may be emptied at any time: the database has them. */
export const eventStream = 'VERITRAIN_EVENTS';

/** Subjects of dispatch, for the server's permissions. */
export const dispatchSubjects = ['node.*.v1', 'lease.*.v1', 'segment.*.v1', 'proof.*.v1'] as const;

/** Replicas share the messages of nodes as one queue. */
export const dispatchQueue = 'control-plane';
