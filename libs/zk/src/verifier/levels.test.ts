/**
 * Openings of more than one level, data whose inputs come first, two points outside the domain (libs/zk/SPEC.md §9.4):
 * honest proofs, every part that only they have changed by one bit, and verifiers that leave a check out.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { createEngine } from '../commit/kernels/index.js';
import type { Profile } from '../commit/params.js';
import * as multiproof from '../merkle/multiproof.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { plainBackend } from '../prover/plain-backend.js';
import { proveSegment } from '../prover/prove.js';
import { planBytes, type Plan } from '../relation/plan.js';
import { codeOfProof, flipped } from '../testing/lies.js';
import { testManifest, testProfile, testSegment, type SegmentChoice } from '../testing/segments.js';
import { partsOf } from '../testing/structure.js';
import type { StepProofStatement } from './statement.js';

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 14, grindFold: 14 };
const ground = { grind0: 14, grind1: 14, grindFold: 14, grindFold1: 14 };
const small: Profile = { ...testProfile, ...ground, m: 9, k1: 3, queries0: 4, queries1: 3 };
const choices: [string, SegmentChoice][] = [
  ['two levels', { profile: { ...testProfile, deeper: [level] } }],
  ['three levels', { profile: { ...testProfile, deeper: [level, { ...level, logBlowup: 4, k: 1 }] } }],
  ['inputs first', { profile: { ...testProfile, inputsFirst: true }, manifest: testManifest({ superblock: 4 }) }],
  [
    'inputs first, rows of their own, a batch that is no power of two',
    {
      profile: { ...small, inputsFirst: true },
      manifest: testManifest({ dims: [40, 30, 3], superblock: 4, batch: 5 }),
    },
  ],
  [
    'inputs first, one layer, mse',
    {
      profile: { ...testProfile, oodPoints: 2, inputsFirst: true, deeper: [level] },
      manifest: testManifest({ dims: [6, 4], loss: 'mse', superblock: 2 }),
    },
  ],
];
const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const deep = testSegment(backend, {
  ...{ profile: { ...small, oodPoints: 2, inputsFirst: true, deeper: [level, { ...level, k: 1 }] } },
  ...{ variant: 'separate', manifest: testManifest({ superblock: 2 }) },
});
const { proof, statement } = proveSegment(backend, deep.plan, deep.input);
const parts = partsOf(deep.plan, statement, proof);

afterEach(() => vi.restoreAllMocks());

const codeOf = (changed: Uint8Array, stated: StepProofStatement = statement, plan: Plan = deep.plan): string =>
  codeOfProof(plan, stated, changed);

describe('proofs of more levels', () => {
  it.each(choices)('are accepted: %s', (_name, choice) => {
    const { plan, input } = testSegment(backend, choice);
    const made = proveSegment(backend, plan, input);
    expect(codeOf(made.proof, made.statement, plan)).toBe('accepted');
  });

  it('are the same by bigints and by kernels', () => {
    const light = { k: 2, logBlowup: 2, multiplicity: 2, queries: 2, grind: 1, grindFold: 1 };
    const choice: SegmentChoice = {
      profile: { ...testProfile, m: 9, k1: 3, queries0: 3, oodPoints: 2, inputsFirst: true, deeper: [light] },
      manifest: testManifest({ superblock: 2 }),
    };
    const [fast, slow] = [backend, plainBackend].map((own) => {
      const { plan, input } = testSegment(own, choice);
      return toHex(proveSegment(own, plan, input).proof);
    });
    expect(slow).toBe(fast);
  });

  it('are refused with the code of what was changed: every root, value, nonce, message, leaf and path of a level', () => {
    const first = parts.findIndex(({ kind, tree }) => kind === 'root' && tree === 'L1');
    const lastNonce = parts.findLastIndex(({ kind }) => kind === 'nonce');
    const wrong = parts.flatMap((part, k) => {
      const ofLevel = part.tree === undefined ? k > first : part.tree.startsWith('L');
      if (!ofLevel || (part.kind === 'symbol' && k % 9 !== 0)) return [];
      const opened = part.kind === 'symbol' || part.kind === 'sibling';
      const due = opened ? `STEP_MERKLE_${part.tree!}` : k <= lastNonce ? 'STEP_POW' : 'STEP_FINAL_CHECK';
      const got = codeOf(flipped(proof, part.offset + part.length - 1));
      return got === due ? [] : [{ ...part, got, due }];
    });
    expect(wrong).toEqual([]);
  });

  it('show the values that their statement has the hash of', () => {
    // Root of the witness, then two values of each of W0, WT and D.
    for (let k = 0; k < 6; k++) expect(codeOf(flipped(proof, 32 + 16 * k + 15))).toBe('STEP_STATEMENT');
  });

  it('have plans of their own', () => {
    const { profile } = deep.plan;
    const others: Profile[] = [
      { ...profile, inputsFirst: false },
      { ...profile, oodPoints: 1 },
      { ...profile, deeper: [level] },
      { ...profile, deeper: [{ ...level, queries: 6 }, profile.deeper![1]!] },
      { ...profile, deeper: [{ ...level, grind: 15 }, profile.deeper![1]!] },
      { ...profile, deeper: [{ ...level, grindFold: 13 }, profile.deeper![1]!] },
    ];
    const own = [profile, ...others].map((other) => {
      const choice = { profile: other, variant: 'separate', manifest: testManifest({ superblock: 2 }) } as const;
      return toHex(planBytes(testSegment(backend, choice).plan));
    });
    expect(new Set(own).size).toBe(own.length);
  });

  it('commit to data in an order that the digest of the layout holds', () => {
    const inputsFirst = testSegment(backend, { profile: { ...testProfile, inputsFirst: true } });
    const stepsFirst = testSegment(backend, {});
    expect(toHex(inputsFirst.input.statement.datasetRoot)).not.toBe(toHex(stepsFirst.input.statement.datasetRoot));
  });
});

describe('a verifier that leaves out', () => {
  it.each(['L2', 'L3'] as const)('the root of %s accepts a false sibling', (tree) => {
    const sibling = parts.find((part) => part.kind === 'sibling' && part.tree === tree)!;
    const root = parts.find((part) => part.kind === 'root' && part.tree === tree)!;
    const stated = proof.subarray(root.offset, root.offset + 32);
    const changed = flipped(proof, sibling.offset);
    expect(codeOf(changed)).toBe(`STEP_MERKLE_${tree}`);
    const rootOf = multiproof.rootOf;
    const roots = ['W0', 'WT', 'S', 'D', 'L1', 'L2', 'L3'];
    let call = 0;
    vi.spyOn(multiproof, 'rootOf').mockImplementation((...given) => {
      const reached = rootOf(...given);
      return roots[call++] === tree ? stated : reached;
    });
    expect(codeOf(changed)).toBe('accepted');
  });
});
