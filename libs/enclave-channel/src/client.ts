/**
 * The host's end of the enclave's channel: sends requests, matches replies, hands on events. What comes out of the
 * enclave is parsed like anything else from outside.
 */
import type { Socket } from 'node:net';
import { CollateralError, reportedError } from '#attestation/base';
import {
  encodeFrame,
  frameDecoder,
  parseFromEnclave,
  type EnclaveEvent,
  type RequestOf,
  type RequestType,
} from '#libs/wire/channel';

/**
 * Milliseconds within which each request is answered. `train` checks the whole data set before it answers, and the
 * enclave takes requests one after the other, so what may wait behind it waits as long.
 */
const answerWithinMs: Readonly<Record<RequestType, number>> = {
  // A guest that boots with the connection takes most of a minute where its processor is emulated.
  open: 300_000,
  attest: 1_800_000,
  job: 120_000,
  shard: 120_000,
  start: 120_000,
  piece: 120_000,
  train: 1_800_000,
  prepare: 1_800_000,
  segment: 1_800_000,
  partial: 1_800_000,
  average: 1_800_000,
  renew: 1_800_000,
  cancel: 1_800_000,
};

type Body<K extends RequestType> = Omit<RequestOf<K>, 'type' | 'id'>;

export interface EnclaveClient {
  /**
   * @throws the enclave's own error; CollateralError ENCLAVE_LOST when it is gone, ENCLAVE_TIMEOUT when it does not
   *   answer, which ends the channel: nobody knows what it still does
   */
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

export function createEnclaveClient(
  socket: Socket,
  withinMs: Readonly<Record<RequestType, number>> = answerWithinMs,
): EnclaveClient {
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
    else entry?.reject(reportedError(message));
  }

  return {
    request(type, body) {
      if (lost) return Promise.reject(enclaveLost());
      const id = nextId++;
      return new Promise<Uint8Array>((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(id);
          reject(enclaveSilent(type, withinMs[type]));
          socket.destroy();
        }, withinMs[type]);
        const settle =
          <T>(end: (value: T) => void) =>
          (value: T): void => {
            clearTimeout(late);
            end(value);
          };
        waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
        socket.write(encodeFrame({ type, id, ...body }));
      });
    },
    onEvent: (next) => void (listener = next),
    onLost: (told) => void (lost ? told() : lostListeners.push(told)),
    close: () => socket.destroy(),
  };
}

function enclaveSilent(type: RequestType, withinMs: number): CollateralError {
  return new CollateralError('ENCLAVE_TIMEOUT', {
    expected: `an answer to ${type} within ${withinMs / 1000} s`,
    got: 'none',
    rule: 'enclave/SPEC.md, channel',
    action: 'start the enclave again; the job goes on from its last checkpoint',
  });
}

function enclaveLost(): CollateralError {
  return new CollateralError('ENCLAVE_LOST', {
    expected: 'an open channel to the enclave',
    got: 'a closed one',
    rule: 'enclave/SPEC.md, channel',
    action: 'start the enclave again; the job goes on from its last checkpoint',
  });
}
