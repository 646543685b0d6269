import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollateralError, Rejection } from '#attestation/base';
import { pattern } from '#libs/wire';
import { collectEscrow, handOver, tellAgain, tellStopped, type HandOverParts } from './hand-over.js';
import type { Move } from './next-move.js';
import { openPendingEscrows, type PendingResult } from './pending.js';
import type { OwnSide } from './terms.js';

const noParts = { getPart: () => Promise.reject(new Error()), putParts: () => Promise.reject(new Error()) };

const jobId = '0a'.repeat(32);
const nodeId = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';
const word = new Uint8Array(32).fill(2);
const why = { expected: 'a', got: 'b', rule: 'test' };
const away = new CollateralError('CONTROL_PLANE_UNREACHABLE', why);
const pending = openPendingEscrows(mkdtempSync(join(tmpdir(), 'veritrain-hand-over-')));
const account = { timings: {}, transactions: [] };

const escrow: PendingResult = {
  version: 2,
  jobId: new Uint8Array(32).fill(0x0a),
  lease: { leaseId: 'lease', fence: 3 },
  terms: Uint8Array.of(1),
  brokerUrl: 'https://broker.example',
  key: word.slice(0, 20),
  told: false,
  stored: false,
  receipts: [{ statement: Uint8Array.of(5), receipt: Uint8Array.of(6) }],
  result: {
    ciphertext: Uint8Array.of(2, 3),
    revealKey: word,
    borders: [word, word],
    run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word, keys: word },
    keys: [word.slice(0, 20)],
    seal: Uint8Array.of(4),
  },
};

let calls: string[];
let refusal: Error | null;
let move: Move;
let isOnChain: boolean;
beforeEach(() => {
  calls = [];
  refusal = null;
  move = 'wait';
  isOnChain = false;
  pending.save(escrow);
});

const parts: HandOverParts = {
  pending,
  store: {
    ...noParts,
    shard: async () => word,
    getBlob: async () => word,
    putBlob: async () => `0x${'01'.repeat(32)}`,
  },
  controlPlane: {
    async send(name, payload) {
      calls.push(name);
      if (name === pattern.leaseDeliver) expect(payload).toMatchObject({ leaseId: 'lease', fence: 3, receipts: [{}] });
      if (refusal !== null) throw refusal;
    },
    close: () => undefined,
  },
  provider: {
    own: {} as OwnSide,
    engage: async () => [],
    isOwed: async () => true,
    publishEstimate: async () => 0n,
    checkPlan: async () => undefined,
    hasStarted: async () => false,
    commit: async () => void calls.push('commit'),
    hasCommitted: async () => isOnChain,
    async collect() {
      calls.push(`collect: ${move}`);
      return move;
    },
    keptStake: async () => [],
    close: () => undefined,
  },
};
const told = (): boolean | 'refused' | undefined => pending.find(jobId)?.told;

describe('a result that is handed over', () => {
  it('is delivered, then committed', async () => {
    await handOver(escrow, Promise.resolve(escrow), parts, account);
    expect(calls).toEqual([pattern.leaseDeliver, 'commit']);
    expect(told()).toBe(true);
  });

  it('waits, on disk, when the control plane is away, and is delivered from there', async () => {
    refusal = away;
    await handOver(escrow, Promise.resolve(escrow), parts, account);
    expect(calls).toEqual([pattern.leaseDeliver]);
    expect(told()).toBe(false);
    await expect(collectEscrow(jobId, nodeId, parts)).rejects.toBe(away);
    refusal = null;
    await collectEscrow(jobId, nodeId, parts);
    expect(told()).toBe(true);
    calls = [];
    await collectEscrow(jobId, nodeId, parts);
    expect(calls).toEqual(['collect: wait']);
  });

  it('waits, on disk, when another lease has the job: two results on their way would be one that nobody pays', async () => {
    refusal = new Rejection('LEASE_FENCED', why);
    await handOver(escrow, Promise.resolve(escrow), parts, account);
    expect(calls).toEqual([pattern.leaseDeliver]);
    expect(told()).toBe('refused');
    calls = [];
    await collectEscrow(jobId, nodeId, parts);
    expect(calls).toEqual(['collect: wait']);
  });

  it('waits, on disk, when it is refused for itself: what the control plane hands out must be what the chain has', async () => {
    refusal = new Rejection('DELIVERY_INCOMPLETE', why);
    await handOver(escrow, Promise.resolve(escrow), parts, account);
    expect(calls).toEqual([pattern.leaseDeliver]);
    expect(told()).toBe('refused');
  });

  it('is told with what let its session in, where the control plane was restored from before the lease', async () => {
    const told: unknown[] = [];
    const restored: HandOverParts = {
      ...parts,
      controlPlane: {
        async send(name, payload) {
          told.push([name, (payload as { fence: number }).fence]);
          if (told.length === 1) throw new Rejection('LEASE_UNKNOWN', why);
          if (name !== pattern.leaseRestore) return {};
          expect(payload).toMatchObject({
            leaseId: 'lease',
            jobId: `0x${jobId}`,
            nodeId: 'node',
            evidence: 'shown',
            endorsements: 'rested on',
          });
          return { fence: 5 };
        },
        close: () => undefined,
      },
    };
    pending.saveSession(jobId, {
      leaseId: 'lease',
      nodeId: 'node',
      evidence: 'shown',
      endorsements: 'rested on',
      release: {},
    });
    await handOver(escrow, Promise.resolve(escrow), restored, account);
    expect(told).toEqual([
      [pattern.leaseDeliver, 3],
      [pattern.leaseRestore, 3],
      [pattern.leaseDeliver, 5],
    ]);
    pending.remove(jobId);
    expect(pending.sessionOf(escrow)).toBeNull();
    expect(calls).toEqual(['commit']);
  });

  it('is told again once the chain has it, until it is taken', async () => {
    pending.save({ ...escrow, told: 'refused' });
    isOnChain = true;
    refusal = new Rejection('LEASE_FENCED', why);
    await expect(collectEscrow(jobId, nodeId, parts)).rejects.toMatchObject({ code: 'DELIVERY_REFUSED' });
    refusal = null;
    await collectEscrow(jobId, nodeId, parts);
    expect(told()).toBe(true);
    expect(calls.filter((call) => call === pattern.leaseDeliver)).toHaveLength(2);
  });

  it('is told again after a start, with every receipt of its run', async () => {
    pending.save({ ...escrow, told: true });
    pending.save({ ...escrow, jobId: word, result: null });
    tellAgain(pending);
    pending.remove(Buffer.from(word).toString('hex'));
    expect(told()).toBe(false);
    await collectEscrow(jobId, nodeId, parts);
    expect(calls).toContain(pattern.leaseDeliver);
    expect(told()).toBe(true);
  });

  it('that another lease has taken over meanwhile is left to it', async () => {
    const next = { ...escrow, lease: { leaseId: 'next', fence: 4 } };
    pending.save(next);
    await handOver(escrow, Promise.resolve(escrow), parts, account);
    expect(pending.find(jobId)).toEqual(next);
  });

  it('that the rule of its manifest stopped is delivered like a whole one', async () => {
    const early = { ...escrow, result: { ...escrow.result, run: { ...escrow.result.run, outcome: 3 as const } } };
    pending.save(early);
    await handOver(early, Promise.resolve(early), parts, account);
    expect(calls).toContain(pattern.leaseDeliver);
  });

  it('without a result at all is committed as such and not delivered', async () => {
    const stopped = { ...escrow, result: { ...escrow.result, run: { ...escrow.result.run, outcome: 1 as const } } };
    await tellStopped(stopped, parts, 'detail', { step: 1, tensor: 'Y1' });
    expect(calls).toEqual(['commit', pattern.leaseFail]);
  });
});

describe('an escrow that is collected', () => {
  it('stays until it has ended', async () => {
    await collectEscrow(jobId, nodeId, parts);
    expect(pending.jobs()).toEqual([jobId]);
    move = 'end';
    await collectEscrow(jobId, nodeId, parts);
    expect(pending.jobs()).toEqual([]);
    await collectEscrow(jobId, nodeId, parts);
  });

  it('S-H3 keeps in mind that the broker has the whole ciphertext', async () => {
    move = 'store';
    await collectEscrow(jobId, nodeId, parts);
    expect(pending.find(jobId)).toMatchObject({ stored: true });
  });

  it('before its result has nothing to deliver', async () => {
    pending.save({ ...escrow, result: null });
    move = 'abort';
    await collectEscrow(jobId, nodeId, parts);
    expect(calls).toEqual(['collect: abort']);
    expect(pending.jobs()).toEqual([jobId]);
  });
});
