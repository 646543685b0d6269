import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { CollateralError, concatBytes, Rejection } from '#attestation/base';
import { ciphertextDigest } from '#attestation/records';
import type { BlobSource } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import { pattern } from '#libs/wire';
import type { EnclaveEvent } from '#libs/wire/channel';
import { openCiphertexts, type CipherFile } from './ciphertexts.js';
import { train } from './training.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-training-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const word = new Uint8Array(32).fill(1);
const lease = { leaseId: 'lease', fence: 1 };
const why = { expected: 'a', got: 'b', rule: 'test' };
const fenced = new Rejection('LEASE_FENCED', why);

const edge = { edge: 'n0', values: 4, saturatedValues: 1, errors: 4, saturatedErrors: 2, zeroErrors: 3 };
const progress = (step: number): EnclaveEvent => ({
  type: 'progress',
  step,
  of: 3,
  lossMicro: 1,
  accuracyPpm: 1,
  samplesPerSecond: 1,
  edges: [edge],
});
const checkpoint = (step: number): EnclaveEvent => ({
  type: 'checkpoint',
  step,
  statement: Uint8Array.of(step),
  receipt: Uint8Array.of(step),
  ciphertext: Uint8Array.of(step),
});
const times = { decryptMicros: 1, checkMicros: 1, trainMicros: 1, commitMicros: 1, signMicros: 1, sealMicros: 1 };
const result: EnclaveEvent = {
  type: 'result',
  ciphertext: word,
  revealKey: word,
  borders: [word],
  run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word, keys: word },
  keys: [],
  seal: word,
  evaluations: [],
  timings: times,
};

/** An enclave that answers `train` as told and then sends these events; and a control plane that refuses as told. */
function bench(
  events: readonly EnclaveEvent[],
  refuse: (name: string, payload: Record<string, unknown>) => Error | null,
) {
  const told: string[] = [];
  let isClosed = false;
  let lose = (): void => undefined;
  const enclave: EnclaveClient & { accept: Promise<Uint8Array> } = {
    accept: Promise.resolve(new Uint8Array()),
    request: (type) => {
      told.push(type);
      return enclave.accept;
    },
    onEvent: (listener) => void enclave.accept.then(() => events.forEach(listener)).catch(() => undefined),
    onLost: (listener) => void (lose = listener),
    close: () => {
      isClosed = true;
      lose();
    },
  };
  const controlPlane = {
    send: async (name: string, payload: object) => {
      const refusal = refuse(name, payload as Record<string, unknown>);
      told.push(refusal === null ? name : `${name} refused`);
      if (refusal !== null) throw refusal;
    },
    close: () => undefined,
  };
  const uploaded: string[] = [];
  const store = {
    ...{ shard: async () => word, getBlob: async () => word, putBlob: async () => '0x' },
    getPart: async () => ({ bytes: word, total: word.length }),
    async putParts({ bytes, read }: BlobSource) {
      uploaded.push(Buffer.from(read(0, bytes)).toString('hex'));
    },
  };
  const ciphertexts = openCiphertexts(folder);
  return { enclave, told, uploaded, isClosed: () => isClosed, parts: { controlPlane, store, ciphertexts, threads: 1 } };
}

const engage = async () => {
  return [{ call: 'start', hash: '0x' }];
};

describe('a run', () => {
  it('keeps what comes in pieces on disk until it is told, and the result until it is handed over', async () => {
    const piece = (index: number, byte: number): EnclaveEvent => ({
      ...{ type: 'piece', index, ciphertext: Uint8Array.of(byte, byte) },
    });
    const events = [piece(0, 1), piece(1, 2), checkpoint(3), checkpoint(4), piece(0, 5), result];
    const { enclave, parts, uploaded } = bench(events, () => null);
    const { end, told: rest } = await train(lease, enclave, parts, null, engage);
    expect(await rest()).toEqual([]);
    expect(uploaded).toEqual(['0101020203']);
    const { ciphertext } = end as { ciphertext: CipherFile };
    const whole = concatBytes(Uint8Array.of(5, 5), word);
    expect(ciphertext).toMatchObject({ bytes: whole.length, digest: ciphertextDigest(whole) });
    expect(readdirSync(folder)).toEqual([ciphertext.name]);
    expect(parts.ciphertexts.whole(ciphertext)).toEqual(whole);
    parts.ciphertexts.keepOnly(new Set());
    expect(readdirSync(folder)).toEqual([]);
  });

  it('ends where pieces come out of order', async () => {
    const { enclave, parts } = bench([{ type: 'piece', index: 1, ciphertext: word }], () => null);
    await expect(train(lease, enclave, parts, null, engage)).rejects.toMatchObject({ code: 'PIECES_ORDER' });
  });

  it('engages the escrow after the enclave has accepted the data, and then tells what happens in order', async () => {
    const { enclave, parts, told } = bench([progress(1), checkpoint(1), result], () => null);
    const {
      end,
      transactions,
      told: rest,
    } = await train(lease, enclave, parts, null, async () => {
      told.push('engage');
      return engage();
    });
    expect(end.type).toBe('result');
    expect(transactions).toHaveLength(1);
    expect(await rest()).toEqual([]);
    expect(told).toEqual(['train', 'engage', pattern.leaseRunning, pattern.leaseProgress, pattern.leaseCheckpoint]);
  });

  it('locks nothing when the data is not what the job says', async () => {
    const { enclave, parts, told } = bench([], () => null);
    enclave.accept = Promise.reject(new Rejection('DATASET_ROOT', why));
    const ended = train(lease, enclave, parts, null, async () => {
      told.push('engage');
      return engage();
    });
    await expect(ended).rejects.toMatchObject({ code: 'DATASET_ROOT' });
    expect(told).toEqual(['train']);
  });

  it('ends with its enclave when the escrow cannot be engaged', async () => {
    const { enclave, parts, told, isClosed } = bench([progress(1)], () => null);
    const ended = train(lease, enclave, parts, null, () => Promise.reject(new Rejection('JOB_STATE', why)));
    await expect(ended).rejects.toMatchObject({ code: 'JOB_STATE' });
    expect(isClosed()).toBe(true);
    await sleep(10);
    expect(told).toEqual(['train']);
  });

  it('goes on without its lease, and keeps the receipts that nobody took', async () => {
    const events = [checkpoint(1), checkpoint(2), progress(2), checkpoint(3), result];
    const { enclave, parts, told, isClosed } = bench(events, (name, { step }) =>
      name === pattern.leaseCheckpoint && step === 2 ? fenced : null,
    );
    const { end, told: rest } = await train(lease, enclave, parts, null, engage);
    expect(end.type).toBe('result');
    expect((await rest()).map(({ statement }) => statement[0])).toEqual([2, 3]);
    expect(told.filter((name) => name !== 'train')).toEqual([
      pattern.leaseRunning,
      pattern.leaseCheckpoint,
      `${pattern.leaseCheckpoint} refused`,
    ]);
    expect(isClosed()).toBe(false);
  });

  it('goes on without a control plane', async () => {
    const away = new CollateralError('CONTROL_PLANE_UNREACHABLE', why);
    const { enclave, parts } = bench([progress(1), checkpoint(1), result], () => away);
    const { end, told: rest } = await train(lease, enclave, parts, null, engage);
    expect(end.type).toBe('result');
    expect(await rest()).toHaveLength(1);
  });

  it('tells its checkpoints when somebody answers again', async () => {
    const away = new CollateralError('STORE_UNREACHABLE', why);
    let asked = 0;
    const { enclave, parts, told } = bench([checkpoint(1), progress(1), progress(2), checkpoint(2)], (name) =>
      name === pattern.leaseCheckpoint && asked++ === 0 ? away : null,
    );
    const running = train(lease, enclave, parts, null, engage);
    await expect.poll(() => told.length).toBe(6);
    expect(told).toEqual([
      'train',
      pattern.leaseRunning,
      `${pattern.leaseCheckpoint} refused`,
      pattern.leaseCheckpoint,
      pattern.leaseProgress,
      pattern.leaseCheckpoint,
    ]);
    enclave.close();
    await expect(running).rejects.toMatchObject({ code: 'ENCLAVE_LOST' });
  });

  it('does not keep more than a few checkpoints for somebody who stays away', async () => {
    const away = new CollateralError('STORE_UNREACHABLE', why);
    const events = Array.from({ length: 12 }, (_, at) => checkpoint(at + 1));
    const { enclave, parts, told } = bench([...events, result], (name) =>
      name === pattern.leaseCheckpoint ? away : null,
    );
    const { told: rest } = await train(lease, enclave, parts, null, engage);
    expect(await rest()).toHaveLength(12);
    expect(told.filter((name) => name.endsWith('refused'))).toHaveLength(1);
  });

  it('ends when its enclave is lost', async () => {
    const { enclave, parts } = bench([progress(1)], () => null);
    const ended = train(lease, enclave, parts, null, async () => {
      setTimeout(() => enclave.close(), 10);
      return engage();
    });
    await expect(ended).rejects.toMatchObject({ code: 'ENCLAVE_LOST', family: 'collateral' });
  });
});
