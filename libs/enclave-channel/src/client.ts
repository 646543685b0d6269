/**
 * The host's end of the enclave's channel: sends requests, matches replies, hands on events. What comes out of the
 * enclave is parsed like anything else from outside.
 */
import type { Socket } from 'node:net';
import { CollateralError, ConfigurationError, Rejection } from '#attestation';
import {
  encodeFrame,
  frameDecoder,
  parseFromEnclave,
  type EnclaveEvent,
  type ErrorReply,
  type RequestOf,
  type RequestType,
} from '#enclave';

type Body<K extends RequestType> = Omit<RequestOf<K>, 'type' | 'id'>;

export interface EnclaveClient {
  /** @throws the enclave's own error, or CollateralError ENCLAVE_LOST when it is gone */
  request<K extends RequestType>(type: K, body: Body<K>): Promise<Uint8Array>;
  /** Events go to the latest listener alone: one job at a time. */
  onEvent(listener: (event: EnclaveEvent) => void): void;
  /** Called once when the channel ends, for whatever reason. */
  onLost(listener: () => void): void;
  close(): void;
}

interface Waiting {
  resolve(body: Uint8Array): void;
  reject(error: Error): void;
}

export function createEnclaveClient(socket: Socket): EnclaveClient {
  const waiting = new Map<number, Waiting>();
  let listener: (event: EnclaveEvent) => void = () => undefined;
  const lostListeners: (() => void)[] = [];
  const decoder = frameDecoder();
  let nextId = 1;
  let lost = false;

  const lose = (): void => {
    if (lost) return;
    lost = true;
    for (const { reject } of waiting.values()) reject(enclaveLost());
    waiting.clear();
    for (const told of lostListeners) told();
  };

  socket.on('data', (chunk) => {
    try {
      for (const raw of decoder.push(chunk)) receive(raw);
    } catch {
      socket.destroy();
    }
  });
  socket.on('error', lose);
  socket.on('close', lose);

  function receive(raw: unknown): void {
    const message = parseFromEnclave(raw);
    if (message.type !== 'ok' && message.type !== 'error') {
      listener(message);
      return;
    }
    const entry = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === 'ok') entry?.resolve(message.body);
    else entry?.reject(errorOf(message));
  }

  return {
    request(type, body) {
      if (lost) return Promise.reject(enclaveLost());
      const id = nextId++;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        socket.write(encodeFrame({ type, id, ...body }));
      });
    },
    onEvent: (next) => void (listener = next),
    onLost: (told) => void (lost ? told() : lostListeners.push(told)),
    close: () => socket.destroy(),
  };
}

function errorOf(reply: ErrorReply): Error {
  const detail = { expected: reply.expected, got: reply.got, rule: reply.rule, action: reply.action };
  switch (reply.family) {
    case 'configuration':
      return new ConfigurationError(reply.code, detail);
    case 'collateral':
      return new CollateralError(reply.code, detail);
    case 'rejection':
      return new Rejection(reply.code, detail);
  }
}

function enclaveLost(): CollateralError {
  return new CollateralError('ENCLAVE_LOST', {
    expected: 'an open channel to the enclave',
    got: 'a closed one',
    rule: 'enclave SPEC, channel',
    action: 'start the enclave again; the job goes on from its last checkpoint',
  });
}
