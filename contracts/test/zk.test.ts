/** The step verifier on chain against the one in TypeScript: same verdict, same code (libs/zk/SPEC.md §11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, uintBe } from '#attestation/base';
import { parseManifest, type Manifest, type ProfileParameters } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles } from '#libs/zk/verifier';
import { seedOf, testManifest, testProfile, type SegmentChoice } from '../../libs/zk/src/testing/segments.js';
import { inTypeScript, openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { encodeSeal, sealSegment, selector, type SealFields } from './zk-seal.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));
let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
});
afterAll(() => stepVerifier?.stop());

const onChain: StepVerifierOnChain['judge'] = (...seal) => stepVerifier.judge(...seal);

/** Logits with more fraction bits than errors. */
function roundedErrors(parameters: Partial<ProfileParameters> = {}): Manifest {
  const manifest = testManifest({ loss: 'mse', e: [8, 9], ...parameters });
  return parseManifest({ ...manifest, a: [8, 6, 9], g: [10, 6] });
}

const choices: [string, SegmentChoice][] = [
  ['3-4-2', {}],
  ['a later segment', { index: 5 }],
  ['a separate witness tree', { variant: 'separate' }],
  ['a separate witness tree, two steps', { variant: 'separate', manifest: testManifest({ superblock: 2 }) }],
  ['four steps with a schedule', { manifest: testManifest({ superblock: 4, m: [[0, 4], [1, 2], [2, 1]] }) }], // prettier-ignore
  ['null steps', { manifest: testManifest({ superblock: 4, steps: 6 }), index: 1 }],
  ['three layers, three classes', { manifest: testManifest({ dims: [5, 7, 6, 3], superblock: 2 }) }],
  ['four layers', { manifest: testManifest({ dims: [4, 4, 8, 3, 2] }) }],
  ['ten classes', { manifest: testManifest({ dims: [6, 5, 10], batch: 4 }) }],
  ['sixteen classes', { manifest: testManifest({ dims: [3, 4, 16] }) }],
  ['a batch of one', { manifest: testManifest({ batch: 1 }) }],
  ['26-byte digests', { profile: { ...testProfile, digestBytes: 26 } }],
  ['two random rows, another rate', { profile: { ...testProfile, randomRows: 2, logBlowup: 2, k1: 5 } }],
  ['small', { profile: profiles.get('small')! }],
  ['chain16', { profile: profiles.get('chain16')! }],
  ['mse, chain16', { profile: profiles.get('chain16')!, manifest: testManifest({ loss: 'mse' }) }],
  ['one layer', { manifest: testManifest({ dims: [5, 4] }) }],
  ['one layer, two steps of three samples', { manifest: testManifest({ dims: [6, 4], batch: 3, superblock: 2 }) }],
  ['five samples', { manifest: testManifest({ batch: 5 }) }],
  ['four steps of three samples', { manifest: testManifest({ batch: 3, superblock: 4, m: [[0, 2]] }) }],
  ['errors of 14 bits', { manifest: testManifest({ gbits: 14 }) }],
  ['limbs looked up unscaled', { manifest: testManifest({ batch: 64, superblock: 16, m: [[0, 1], [32, 255]] }) }], // prettier-ignore
  ['mse', { manifest: testManifest({ loss: 'mse' }) }],
  ['mse, a separate witness tree', { variant: 'separate', manifest: testManifest({ loss: 'mse' }) }],
  ['mse, two steps, three classes', { manifest: testManifest({ loss: 'mse', dims: [5, 4, 3], superblock: 2 }) }],
  ['mse, four layers, a schedule', { manifest: testManifest({ loss: 'mse', dims: [4, 4, 8, 3, 5], superblock: 4, m: [[0, 4], [1, 2]] }) }], // prettier-ignore
  ['mse, one layer', { manifest: testManifest({ loss: 'mse', dims: [5, 2] }) }],
  ['mse, one layer, two steps', { manifest: testManifest({ loss: 'mse', dims: [5, 3], superblock: 2 }) }],
  ['mse, one layer, three samples', { manifest: testManifest({ loss: 'mse', dims: [5, 3], batch: 3 }) }],
  ['mse, null steps', { manifest: testManifest({ loss: 'mse', superblock: 4, steps: 6 }), index: 1 }],
  ['mse, rounded errors', { manifest: roundedErrors() }],
  ['mse, rounded errors of 13 bits', { manifest: roundedErrors({ gbits: 13 }) }],
  ['mse, errors of 13 bits', { manifest: testManifest({ loss: 'mse', gbits: 13 }) }],
];

describe('honest proofs are accepted on chain', () => {
  it.each(choices)('%s', async (_name, choice) => {
    const { fields, digest } = sealSegment(backend, choice);
    expect(await onChain(fields, digest)).toBe('accepted');
  });
});

function mutate(proof: Uint8Array, k: number): Uint8Array {
  const random = new DataView(seedOf(`zk mutation ${k}`).buffer);
  const place = random.getUint32(0) % proof.length;
  if (k % 29 === 0) return proof.subarray(0, place);
  if (k % 31 === 0) return new Uint8Array([...proof, ...new Uint8Array(1 + (place % 40))]);
  const copy = Uint8Array.from(proof);
  if (k % 7 === 0) copy.fill(0xff, place & ~7, (place & ~7) + 8);
  else copy[place]! ^= 1 << (random.getUint8(4) % 8);
  return copy;
}

describe('changed proofs get the code that TypeScript gives', () => {
  const count = Number(process.env['VERITRAIN_MUTATIONS'] ?? 1000);
  it.each<[string, SegmentChoice, number]>([
    ['joint', {}, 0.6],
    ['separate', { variant: 'separate' }, 0.2],
    ['two steps', { manifest: testManifest({ superblock: 2 }) }, 0.2],
    ['mse', { manifest: testManifest({ loss: 'mse' }) }, 0.4],
    ['mse, separate, two steps', { variant: 'separate', manifest: testManifest({ loss: 'mse', superblock: 2 }) }, 0.2],
    ['mse, one layer, three samples', { manifest: testManifest({ loss: 'mse', dims: [5, 3], batch: 3 }) }, 0.2],
    ['mse, rounded errors', { manifest: roundedErrors() }, 0.2],
  ])('%s', { timeout: 600_000 }, async (name, choice, share) => {
    const { plan, statement, fields, digest } = sealSegment(backend, choice);
    const seen = new Map<string, number>();
    const each = Array.from({ length: Math.ceil(count * share) }, (_, k) => k);
    for (let from = 0; from < each.length; from += 4) {
      await Promise.all(
        each.slice(from, from + 4).map(async (k) => {
          const proof = mutate(fields.proof, k);
          const expected = inTypeScript(plan, statement, proof);
          expect(await onChain({ ...fields, proof }, digest), `mutation ${k} of ${name}`).toBe(expected);
          seen.set(expected, (seen.get(expected) ?? 0) + 1);
        }),
      );
    }
    expect(seen.has('accepted')).toBe(false);
    expect(seen.size).toBeGreaterThanOrEqual(5);
  });
});

describe('changed statements are refused', () => {
  const other = seedOf('other');
  const tooBig = new Uint8Array(32).fill(255);
  it.each<[string, (fields: SealFields) => Partial<SealFields>, string]>([
    ['domain', () => ({ domain: other }), 'STEP_STATEMENT'],
    ['terms', (f) => ({ terms: flipped(f.terms, 40) }), 'STEP_STATEMENT'],
    ['spec digest', (f) => ({ terms: flipped(f.terms, 170) }), 'STEP_STATEMENT'],
    ['short terms', (f) => ({ terms: f.terms.subarray(0, 100) }), 'STEP_STATEMENT'],
    ['segment', () => ({ index: 1 }), 'MERKLE_PATH'],
    ['segment beyond the job', () => ({ index: 64 }), 'STEP_STATEMENT'],
    ['manifest', (f) => ({ spec: { ...f.spec, manifestDigest: other } }), 'STEP_STATEMENT'],
    ['data set', (f) => ({ spec: { ...f.spec, datasetRoot: other } }), 'STEP_STATEMENT'],
    ['seed', (f) => ({ spec: { ...f.spec, seed: other } }), 'STEP_STATEMENT'],
    ['schedule', (f) => ({ spec: { ...f.spec, schedule: [2n] } }), 'STEP_STATEMENT'],
    ['step sizes', () => ({ sizes: Uint8Array.of(2) }), 'STEP_STATEMENT'],
    ['number of step sizes', () => ({ sizes: Uint8Array.of(1, 1) }), 'STEP_STATEMENT'],
    ['weights before', (f) => ({ before: { ...f.before, root: other } }), 'STEP_STATEMENT'],
    ['weights after', (f) => ({ afterwards: { ...f.afterwards, root: other } }), 'STEP_STATEMENT'],
    ['value above p', (f) => ({ afterwards: { ...f.afterwards, ood: tooBig } }), 'STEP_STATEMENT'],
    ['data', (f) => ({ data: { ...f.data, root: other } }), 'MERKLE_PATH'],
    ['long path', (f) => ({ dataPath: new Array(32).fill(other) as typeof f.dataPath }), 'MERKLE_INDEX'],
    ['no path', () => ({ dataPath: [] }), 'MERKLE_'],
    ['plan', (f) => ({ plan: flipped(f.plan, f.plan.length - 1) }), 'STEP_STATEMENT'],
    ['plan with two points outside the domain', (f) => ({ plan: with32(f.plan, 4, 1, 16, 6, 2) }), 'STEP_PLAN'],
    ['plan of a third loss', (f) => ({ plan: with32(f.plan, 4, 3, 16, 6, 1) }), 'STEP_PLAN'],
    ['plan with errors of 17 bits', (f) => ({ plan: with32(f.plan, 4, 1, 17, 6, 1) }), 'STEP_PLAN'],
    ['plan of another loss', (f) => ({ plan: with32(f.plan, 4, 2, 16, 6, 1) }), 'STEP_STATEMENT'],
    ['plan with a column beyond the known ones', (f) => ({ plan: lastColumn(f.plan, 31) }), 'STEP_PLAN'],
    ['short plan', (f) => ({ plan: f.plan.subarray(0, f.plan.length - 4) }), 'STEP_PLAN'],
  ])('%s', async (_name, change, code) => {
    const { fields, digest } = sealSegment(backend, {});
    const got = await onChain({ ...fields, ...change(fields) }, digest);
    if (code.endsWith('_')) expect(got.startsWith(code)).toBe(true);
    else expect(got).toBe(code);
  });

  it('another statement, another selector, no body', async () => {
    const { fields, digest } = sealSegment(backend, {});
    expect(await onChain(fields, other)).toBe('STEP_STATEMENT');
    expect(await onChain(fields, digest, `0x00000000${encodeSeal(fields).slice(10)}`)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, selector)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, '0x')).toBe('SEAL_SELECTOR');
  });
});

/** The bytes and 32-bit words behind them. */
function with32(bytes: Uint8Array, ...words: number[]): Uint8Array {
  return concatBytes(bytes, ...words.map((word) => uintBe(word, 4)));
}

/** The last looked-up column, of five words before the last four, as another kind. */
function lastColumn(plan: Uint8Array, kind: number): Uint8Array {
  const copy = Uint8Array.from(plan);
  copy.set(uintBe(kind, 4), plan.length - 36);
  return copy;
}

function flipped(bytes: Uint8Array, place: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[place]! ^= 1;
  return copy;
}
