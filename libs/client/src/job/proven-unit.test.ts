/** What proofs take is told before a job is paid for, and one that could never be discharged is refused. */
import { expect, it } from 'vitest';
import { profileManifest } from '#libs/step';
import type { ProvingRequest } from './backend.js';
import { provenUnit } from './proven-unit.js';

const seed = `0x${'5a'.repeat(32)}`;
const manifest = (superblock: number, steps = 64) =>
  profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps, seed, superblock });
/** A set of contracts as it is deployed now. */
const verifier = { address: `0x${'11'.repeat(20)}`, codeHash: seed };
const now = { extensions: { zkUnitMatmuls: verifier, zkProofHead: verifier, zkSplitVerifier: verifier } };
const inScheme = (profile: string, scheme: 'fxt-zk/1' | 'fxt-groth16/1' = 'fxt-zk/1') => ({
  ...{ scheme, proving: { profile, variant: 'separate', planDigest: new Uint8Array(32) } as const },
});

it.each<[string, ProvingRequest, number | null]>([
  ['no proof of what an enclave alone vouches for', {}, null],
  ['all where it is proved when the enclave lapses', { onLapse: 'zk' }, 4],
  ['all of a proved job', { assurance: 'zk' }, 4],
  ['all of a job of high value', { assurance: 'tee+zk' }, 4],
  ['those that are drawn of a sampled one', { assurance: 'sampled' }, 3],
])('tells of %s', (_name, request, proofs) => {
  const unit = provenUnit(manifest(16), inScheme('chain64'), request, 3, now);
  expect(unit?.proofs ?? null).toBe(proofs);
  if (unit !== null) expect(unit.gas! / unit.transactions).toBeGreaterThan(5.5e6);
});

it('tells of no more proofs than there are segments', () => {
  expect(provenUnit(manifest(16), inScheme('chain64'), { assurance: 'sampled' }, 32, now)!.proofs).toBe(4);
});

it('says nothing of Groth16, and of data with plain hashes', () => {
  const asked = { assurance: 'zk' } as const;
  expect(provenUnit(manifest(1), inScheme('groth16', 'fxt-groth16/1'), asked, 1, now)).toBeNull();
  expect(provenUnit(manifest(1), { scheme: 'state-keccak', proving: null }, asked, 1, now)).toBeNull();
});

it('refuses proofs that no transaction carries', () => {
  for (const [superblock, profile] of [
    [16, 'fast16'],
    [64, 'chain64'],
    [16, 'large'],
  ] as const) {
    expect(() => provenUnit(manifest(superblock), inScheme(profile), { assurance: 'zk' }, 1, now)).toThrow(
      expect.objectContaining({ code: 'JOB_PROOF_TRANSACTION' }),
    );
  }
});

it('of proofs of several segments counts what they cover, and refuses them to a set of contracts that takes none', () => {
  const small = profileManifest('fx1', { dims: [784, 16, 10], batch: 4, e: 8, steps: 600, seed, superblock: 8 });
  const ask = (set: Parameters<typeof provenUnit>[4]) =>
    provenUnit(small, inScheme('unit64'), { assurance: 'zk' }, 1, set);
  expect(ask(now)).toMatchObject({ steps: 64, profile: 'unit64', proofs: 10, transactions: 10 });
  for (const set of [{}, { extensions: { zkSplitVerifier: verifier } }]) {
    expect(() => ask(set)).toThrow(expect.objectContaining({ code: 'JOB_PROOF_VERIFIER', family: 'configuration' }));
  }
});

it('of proofs in two transactions counts both, and the discharge, and refuses them to a set of contracts that takes none', () => {
  const ask = (set: Parameters<typeof provenUnit>[4]) =>
    provenUnit({ ...manifest(256), steps: 9370 }, inScheme('chain256'), { assurance: 'zk' }, 1, set);
  expect(ask(now)).toMatchObject({ steps: 256, profile: 'chain256', proofs: 37, transactions: 111 });
  for (const set of [{}, { extensions: {} }]) {
    expect(() => ask(set)).toThrow(expect.objectContaining({ code: 'JOB_PROOF_VERIFIER', family: 'configuration' }));
  }
});

it('refuses more draws than one transaction can look through', () => {
  const ask = (samples: number) =>
    provenUnit(manifest(16, 16 * 1000), inScheme('chain64'), { assurance: 'sampled' }, samples, now);
  expect(ask(4000)!.proofs).toBe(1000);
  const message = expect.stringContaining('at most 4000 samples of 1000 segments, got 4001') as string;
  expect(() => ask(4001)).toThrow(expect.objectContaining({ code: 'JOB_SAMPLES', message }));
});

it('refuses draws that leave no room in the transaction of a dear proof', () => {
  const dear = profileManifest('fx1', {
    ...{ dims: [784, 4, 4, 4, 4, 10], batch: 16, e: 8, seed },
    ...{ steps: 256 * 1000 + 1, superblock: 256 },
  });
  const ask = (samples: number) => provenUnit(dear, inScheme('chain64'), { assurance: 'sampled' }, samples, now);
  expect(ask(1000)!.proofs).toBe(1000);
  const message = expect.stringContaining('4000 samples under chain64') as string;
  expect(() => ask(4000)).toThrow(expect.objectContaining({ code: 'JOB_PROOF_TRANSACTION', message }));
});
