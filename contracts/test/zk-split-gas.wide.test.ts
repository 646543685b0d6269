/**
 * What a proof under `chain256` costs in two transactions, as contracts/snapshots/zk-split-gas.json says: of a small net,
 * and of 256 steps of 784-64-10. By name, since proofs under it take minutes and 3.3 GiB:
 *
 *   VERITRAIN_WIDE=1 VERITRAIN_LONG=1 npx vitest run --project wide contracts/test/zk-split-gas.wide.test.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Transaction, type TransactionReceipt } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profileManifest, type Manifest } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles } from '#libs/zk/verifier';
import { testManifest, testSeed } from '../../libs/zk/src/testing/segments.js';
import { hardfork, transactionGasMax } from './zk-chain.js';
import { beginning, openSplitVerifiers, splitSegment, type SplitVerifiers } from './zk-split-chain.js';
import { sealSegment, splitSelector } from './zk-seal.js';

/** What the usual mempools carry. */
const transactionBytesMax = 131_072;
const snapshotFile = new URL('../snapshots/zk-split-gas.json', import.meta.url);
const isAsked = process.env['VERITRAIN_LONG'] !== undefined;
if (!isAsked) console.warn('SKIPPED: proofs under chain256 take minutes; set VERITRAIN_LONG=1');

let onChain: SplitVerifiers;
beforeAll(async () => {
  if (isAsked) onChain = await openSplitVerifiers();
}, 60_000);
afterAll(() => onChain?.stop());

async function bytesOf({ hash }: TransactionReceipt): Promise<number> {
  const sent = await onChain.chain.getTransaction(hash);
  return Transaction.from(sent!).serialized.length / 2 - 1;
}

async function measure(manifest: Manifest) {
  const profile = profiles.get('chain256')!;
  const backend = new KernelBackend(createEngine({ rowLogMax: profile.m, memoryBytesMax: 2 ** 32 }));
  const segment = splitSegment(sealSegment(backend, { manifest, profile }));
  const { parts, digest, fields } = segment;
  const begun = await onChain.send('strict', 'begin', beginning(segment, parts.head));
  const finished = await onChain.send('strict', 'finish', [digest, parts.rest, parts.openings]);
  if (typeof begun === 'string') throw new Error(`begin: ${begun}`);
  if (typeof finished === 'string') throw new Error(`finish: ${finished}`);
  expect(await onChain.send('strict', 'verify', [splitSelector, digest])).toBe('accepted');
  return {
    ...{
      profile: 'chain256',
      dims: manifest.dims.join('-'),
      superblock: manifest.superblock,
      proofBytes: fields.proof.length,
    },
    begin: { gas: Number(begun.gasUsed), bytes: await bytesOf(begun) },
    finish: { gas: Number(finished.gasUsed), bytes: await bytesOf(finished) },
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;

interface Snapshot {
  readonly hardfork: string;
  readonly proofs: Readonly<Record<string, Measured>>;
}

async function hold(name: string, manifest: Manifest): Promise<void> {
  const measured = await measure(manifest);
  const text = readFileSync(snapshotFile, 'utf8');
  const snapshot = JSON.parse(text) as Snapshot;
  const now = { hardfork, proofs: { ...snapshot.proofs, [name]: measured } };
  if (process.env['VERITRAIN_BLESS'] === '1') writeFileSync(snapshotFile, `${JSON.stringify(now, undefined, 2)}\n`);
  else expect(now).toEqual(snapshot);
  for (const { gas, bytes } of [measured.begin, measured.finish]) {
    expect(gas).toBeLessThan(transactionGasMax);
    expect(bytes).toBeLessThan(transactionBytesMax);
  }
}

describe.runIf(isAsked)('gas of a proof in two transactions', () => {
  it('of a small net', { timeout: 300_000 }, () => hold('small', testManifest({ superblock: 4 })));

  it('of 256 steps of 784-64-10, batch 64', { timeout: 1_800_000 }, () => {
    const shape = { dims: [784, 64, 10], batch: 64, e: 8, seed: testSeed, loss: 'softmax-ce' } as const;
    return hold('256 steps', profileManifest('fx1', { ...shape, steps: 256, superblock: 256 }));
  });
});
