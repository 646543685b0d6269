/** Segments of every shape for the step verifier on chain, and mutants of their proofs (libs/zk/SPEC.md §11). */
import { expect } from 'vitest';
import { parseManifest, type Manifest, type ProfileParameters } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles } from '#libs/zk/verifier';
import { seedOf, testManifest, testProfile, type SegmentChoice } from '../../libs/zk/src/testing/segments.js';
import { inTypeScript, type StepVerifierOnChain } from './zk-chain.js';
import { sealSegment } from './zk-seal.js';

export const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));

/** Logits with more fraction bits than errors. */
function roundedErrors(parameters: Partial<ProfileParameters> = {}): Manifest {
  const manifest = testManifest({ loss: 'mse', e: [8, 9], ...parameters });
  return parseManifest({ ...manifest, a: [8, 6, 9], g: [10, 6] });
}

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 1 };
const deep = { ...testProfile, oodPoints: 2, inputsFirst: true, deeper: [level] } as const;

/** Shapes of segments by name: each is accepted. */
export const choices: [string, SegmentChoice][] = [
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
  ['two points outside the domain', { profile: { ...testProfile, oodPoints: 2 } }],
  ['two levels, inputs first', { profile: deep, manifest: testManifest({ superblock: 4 }) }],
  ['three levels, separate, one layer', { profile: { ...deep, oodPoints: 1, deeper: [level, { ...level, k: 1 }] }, variant: 'separate', manifest: testManifest({ dims: [5, 4], superblock: 2 }) }], // prettier-ignore
  ['two levels, mse, rows of one input', { profile: { ...deep, m: 9, k1: 3, queries0: 5, digestBytes: 26 }, manifest: testManifest({ dims: [40, 30, 3], batch: 5, superblock: 8, loss: 'mse' }) }], // prettier-ignore
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

/** Shapes whose proofs are changed, and how often beside the first. */
export const mutated: readonly [string, SegmentChoice, number][] = [
  ['joint', {}, 0.6],
  ['separate', { variant: 'separate' }, 0.2],
  ['two steps', { manifest: testManifest({ superblock: 2 }) }, 0.2],
  ['two levels', { profile: deep, manifest: testManifest({ superblock: 2 }) }, 0.4],
  ['mse', { manifest: testManifest({ loss: 'mse' }) }, 0.4],
  ['three levels, separate', { profile: { ...deep, deeper: [level, { ...level, k: 1 }] }, variant: 'separate' }, 0.2],
  ['mse, separate, two steps', { variant: 'separate', manifest: testManifest({ loss: 'mse', superblock: 2 }) }, 0.2],
  ['mse, one layer, three samples', { manifest: testManifest({ loss: 'mse', dims: [5, 3], batch: 3 }) }, 0.2],
  ['mse, rounded errors', { manifest: roundedErrors() }, 0.2],
];

const prime = 2n ** 64n - 2n ** 32n + 1n;

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

/** Eight bytes of the proof, at `count` places, as the least number that is no symbol and as the greatest that is one. */
export async function judgesBordersAlike(judge: StepVerifierOnChain['judge'], count: number): Promise<void> {
  const { plan, statement, fields, digest } = sealSegment(backend, {});
  const seen = new Set<string>();
  for (let k = 0; k < count; k++) {
    const place = 8 * Math.floor((k * fields.proof.length) / (8 * count));
    for (const symbol of [prime, prime - 1n]) {
      const proof = Uint8Array.from(fields.proof);
      new DataView(proof.buffer).setBigUint64(place, symbol);
      const expected = inTypeScript(plan, statement, proof);
      expect(await judge({ ...fields, proof }, digest), `${symbol} at byte ${place}`).toBe(expected);
      seen.add(expected);
    }
  }
  expect(seen).not.toContain('accepted');
  expect(seen).toContain('STEP_NONCANONICAL');
  expect(seen.size).toBeGreaterThan(2);
}

/** Of `count` mutants of a shape's proof the chain says what TypeScript says, and accepts none. */
export async function judgesAlike(
  judge: StepVerifierOnChain['judge'],
  name: string,
  choice: SegmentChoice,
  count: number,
): Promise<void> {
  const { plan, statement, fields, digest } = sealSegment(backend, choice);
  const seen = new Set<string>();
  for (let from = 0; from < count; from += 4) {
    const some = Array.from({ length: Math.min(4, count - from) }, (_, k) => from + k);
    await Promise.all(
      some.map(async (k) => {
        const proof = mutate(fields.proof, k);
        const expected = inTypeScript(plan, statement, proof);
        expect(await judge({ ...fields, proof }, digest), `mutation ${k} of ${name}`).toBe(expected);
        seen.add(expected);
      }),
    );
  }
  expect(seen).not.toContain('accepted');
  expect(seen.size).toBeGreaterThanOrEqual(Math.min(5, 1 + count / 15));
}
