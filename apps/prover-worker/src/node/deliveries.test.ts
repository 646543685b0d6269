/** Nothing of a run is committed on chain that the control plane has not taken, whenever the node is killed. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CollateralError, Rejection } from '#attestation/base';
import type { ControlPlane } from '#libs/node';
import { handOver, handOverLeft, openProofTeller } from './deliveries.js';
import { openKeptJobs, type KeptDelivery, type KeptJobs, type KeptProof } from './kept-jobs.js';
import type { NodeParts } from './parts.js';

const jobId = `0x${'ab'.repeat(32)}`;
const word = (byte: string): string => `0x${byte.repeat(32)}`;
const delivery: KeptDelivery = {
  ...{ leaseId: '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', fence: 1 },
  result: { blob: word('01'), bytes: 64, ciphertextDigest: word('05'), keyCommit: word('00') },
  run: { upTo: 1, outcome: 0, bordersRoot: word('02'), last: word('04'), delivery: word('00'), keys: word('00') },
  ...{ seal: '', borders: [word('03'), word('04')], receipts: [], timings: { train: 1 }, transactions: [] },
};
const proofOf = (index: number): KeptProof => ({
  claim: { nodeId: '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', jobId, index, fence: 1 },
  ...{ bundle: Uint8Array.of(index), document: '{}' },
});
const detail = { expected: 'an answer', got: 'none', rule: 'test' };
const never = new AbortController().signal;

let folder: string;
let kept: KeptJobs;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-hand-over-'));
  kept = openKeptJobs(folder);
  kept.open(jobId, Uint8Array.of(1), Uint8Array.of(2));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Answers in turn. */
function partsOf(...answers: readonly (Error | object)[]): NodeParts {
  const left = [...answers];
  const send = (): Promise<unknown> => {
    const answer = left.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const store = { putBlob: () => Promise.resolve(word('05')) };
  return { kept, controlPlane: { send } as unknown as ControlPlane, store } as unknown as NodeParts;
}

it('commits what was taken, and asks until it knows', async () => {
  kept.keepDelivery(jobId, delivery);
  expect(kept.find(jobId)).toMatchObject({ borders: null, delivery });
  await handOver({ jobId, delivery }, partsOf(new CollateralError('CONTROL_PLANE_UNREACHABLE', detail), {}), never);
  expect(kept.find(jobId)).toMatchObject({ delivery: null, outcome: 0, borders: [{ length: 32 }, { length: 32 }] });
});

it('Z-L3 commits the end of a run that cannot go on as such, after a restart too', () => {
  kept.keepStopped(jobId, [new Uint8Array(32).fill(3)]);
  expect(kept.find(jobId)).toMatchObject({ delivery: null, outcome: 1, borders: [new Uint8Array(32).fill(3)] });
  expect(openKeptJobs(folder).find(jobId)).toMatchObject({ outcome: 1, borders: [new Uint8Array(32).fill(3)] });
});

it('commits nothing that was refused', async () => {
  kept.keepDelivery(jobId, delivery);
  const refused = handOver({ jobId, delivery }, partsOf(new Rejection('LEASE_FENCED', detail)), never);
  await expect(refused).rejects.toThrow('LEASE_FENCED');
  expect(kept.find(jobId)).toMatchObject({ delivery: null, borders: null });
});

it('tells after a start what was left, and what it cannot tell stays', async () => {
  kept.keepDelivery(jobId, delivery);
  await handOverLeft(partsOf(new CollateralError('CONTROL_PLANE_UNREACHABLE', detail)), AbortSignal.abort());
  kept = openKeptJobs(folder);
  expect(kept.find(jobId)).toMatchObject({ delivery, borders: null });
  await handOverLeft(partsOf({}), never);
  expect(kept.find(jobId)!.borders).toHaveLength(2);
});

it('KEPT_JOB_DAMAGED: hands over what is whole where another job on the disk is damaged, and names the file', async () => {
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const damaged = `0x${'11'.repeat(32)}`;
  kept.open(damaged, Uint8Array.of(1), Uint8Array.of(2));
  writeFileSync(join(folder, damaged.slice(2), 'delivery'), '{');
  kept.keepDelivery(jobId, delivery);
  await handOverLeft(partsOf({}), never);
  expect(kept.find(jobId)!.borders).toHaveLength(2);
  const lines = told.mock.calls.map(([line]) => JSON.parse(String(line)) as object);
  told.mockRestore();
  const named = expect.stringContaining(join(damaged.slice(2), 'delivery')) as string;
  expect(lines).toMatchObject([{ what: `deliver ${damaged}`, code: 'KEPT_JOB_DAMAGED', expected: named }]);
});

it('tells proofs apart that the control plane has taken', () => {
  for (const index of [0, 1]) kept.keepProof(proofOf(index));
  kept.markTold(jobId, 1);
  expect(kept.find(jobId)).toMatchObject({ proofs: [0, 1], told: [1] });
  expect([kept.proof(jobId, 1), kept.proof(jobId, 2)]).toEqual([proofOf(1), null]);
});

it('tells a proof again whose answer never came, and a refused one no more', async () => {
  for (const index of [0, 1]) kept.keepProof(proofOf(index));
  const tell = openProofTeller(partsOf(new Rejection('LEASE_FENCED', detail), {}), 0);
  await tell(kept.find(jobId)!);
  await tell(kept.find(jobId)!);
  expect(kept.find(jobId)).toMatchObject({ proofs: [0, 1], told: [1] });
});

it('gives the answer to a proof time to come', async () => {
  kept.keepProof(proofOf(0));
  await openProofTeller(partsOf({}))(kept.find(jobId)!);
  expect(kept.find(jobId)).toMatchObject({ proofs: [0], told: [] });
});

it('keeps nothing of a job whose escrow has ended meanwhile', () => {
  kept.remove(jobId);
  kept.markTold(jobId, 0);
  kept.closeDelivery(jobId, 'taken');
  expect(kept.ids()).toEqual([]);
});

it('lays a job of a former version aside with TERMS_VERSION, its files kept, and damaged ones not', () => {
  const [former, other] = ['cd', 'ef'].map((byte) => `0x${byte.repeat(32)}`) as [string, string];
  const formerWords = 36;
  kept.open(former, Uint8Array.of(1), new Uint8Array(32 * formerWords));
  kept.open(other, Uint8Array.of(1), Uint8Array.of(2));
  expect(kept.layAside()).toEqual([expect.objectContaining({ code: 'TERMS_VERSION' })]);
  expect(kept.ids()).toEqual([jobId, other]);
  expect(existsSync(join(folder, `${former.slice(2)}.former`, 'spec'))).toBe(true);
});
