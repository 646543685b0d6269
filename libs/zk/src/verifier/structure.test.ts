/**
 * Every part of a proof and every field of its statement, changed one at a time. What there is to change is read off an
 * accepted proof and its statement, so nothing can be left out; each change has its one right code.
 */
import { describe, expect, it } from 'vitest';
import { Rejection, concatBytes } from '#attestation/base';
import { createEngine } from '../commit/kernels/index.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { derivePlanUnchecked, type Variant } from '../relation/plan.js';
import { codeOfProof } from '../testing/lies.js';
import { seedOf, testManifest, testProfile, testSegment } from '../testing/segments.js';
import { leavesOf, partsOf, withLeaf, type Path, type ProofPart } from '../testing/structure.js';
import type { StepProofStatement } from './statement.js';

/** Small, but with grinding that no changed message passes by chance in the runs of this file. */
const profile = {
  ...testProfile,
  m: 9,
  k1: 3,
  queries0: 4,
  queries1: 3,
  grind0: 14,
  grind1: 14,
  grindFold: 14,
  grindFold1: 14,
};
const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

function made(variant: Variant) {
  const { plan, input } = testSegment(backend, { variant, profile, manifest: testManifest({ superblock: 2 }) });
  const { proof, statement } = proveSegment(backend, plan, input);
  return { plan, proof, statement, parts: partsOf(plan, statement, proof) };
}

/** The code that a change of this part must meet: leaves and paths their tree's, the rest the next grinding's. */
function codeFor(part: ProofPart, parts: readonly ProofPart[], variant: Variant): string {
  const { kind, tree } = part;
  if (kind === 'symbol' || kind === 'aux' || kind === 'sibling') {
    const isJoint = variant === 'joint' && (tree === 'S' || tree === 'WT');
    return `STEP_MERKLE_${isJoint ? 'J' : tree!}`;
  }
  const lastNonce = parts.findLastIndex((other) => other.kind === 'nonce');
  return parts.indexOf(part) <= lastNonce ? 'STEP_POW' : 'STEP_FINAL_CHECK';
}

const variants = ['joint', 'separate'] as const;
const proofs = { joint: made('joint'), separate: made('separate') };

describe.each(variants)('parts of a proof, %s variant', (variant) => {
  const { plan, proof, statement, parts } = proofs[variant];

  it('are all of its bytes, of every kind and tree', () => {
    expect(parts.reduce((sum, { length }) => sum + length, 0)).toBe(proof.length);
    expect(parts.filter(({ kind }) => kind === 'masked').length).toBe(
      plan.messages.maskedMessages + 2 * plan.messages.products,
    );
    const trees = new Set(parts.flatMap(({ tree }) => tree ?? []));
    expect([...trees].sort()).toEqual(['D', 'L1', 'S', 'W0', 'WT']);
  });

  const shares = 5;
  it.each([...Array(shares).keys()])(
    'are each rejected with their code when one bit changes, part %i of 5',
    (share) => {
      const wrong = parts.flatMap((part, k) => {
        if (k % shares !== share) return [];
        const changed = Uint8Array.from(proof);
        changed[part.offset + part.length - 1]! ^= 1;
        const [got, due] = [codeOfProof(plan, statement, changed), codeFor(part, parts, variant)];
        return got === due ? [] : [{ ...part, got, due }];
      });
      expect(wrong).toEqual([]);
    },
  );

  it('are refused when a message is no canonical element', () => {
    const elements = parts.filter(({ kind }) => kind === 'masked' || kind === 'clear');
    for (const { offset } of elements.filter((_, k) => k % 7 === 0 || k > elements.length - 12)) {
      for (const half of [0, 8]) {
        const changed = Uint8Array.from(proof).fill(255, offset + half, offset + half + 8);
        expect(codeOfProof(plan, statement, changed)).toBe('STEP_NONCANONICAL');
      }
    }
  });

  it('cannot be left out, doubled or swapped with their neighbour', () => {
    for (const [k, { offset, length }] of parts.entries()) {
      if (k % 23 !== 0) continue;
      const [before, part, after] = [
        proof.subarray(0, offset),
        proof.subarray(offset, offset + length),
        proof.subarray(offset + length),
      ];
      expect(codeOfProof(plan, statement, concatBytes(before, after))).toMatch(/^STEP_/);
      expect(codeOfProof(plan, statement, concatBytes(before, part, part, after))).toMatch(/^STEP_/);
      const next = parts[k + 1];
      if (next?.length !== length) continue;
      const swapped = concatBytes(before, after.subarray(0, length), part, after.subarray(length));
      expect(codeOfProof(plan, statement, swapped)).toMatch(/^STEP_/);
    }
  });

  it('open no leaf twice', () => {
    const symbols = parts.filter(({ kind, tree }) => kind === 'symbol' && tree === 'S');
    const perLeaf = plan.trees.S.rows.length + 6;
    const second = symbols[perLeaf]!.offset;
    const first = symbols[0]!.offset;
    const changed = Uint8Array.from(proof);
    changed.copyWithin(second, first, first + (second - first));
    expect(codeOfProof(plan, statement, changed)).toMatch(/^STEP_MERKLE_/);
  });
});

/** A different value of the same kind. */
function changedLeaf(leaf: unknown): unknown {
  if (leaf instanceof Uint8Array) return leaf.map((byte, i) => (i === leaf.length - 1 ? byte ^ 1 : byte));
  if (typeof leaf === 'number') return leaf + 1;
  return typeof leaf === 'string' ? `${leaf.slice(0, -1)}${leaf.endsWith('0') ? '1' : '0'}` : undefined;
}

describe.each(variants)('fields of a statement, %s variant', (variant) => {
  const { plan, proof, statement } = proofs[variant];
  const other = variant === 'joint' ? 'separate' : 'joint';
  const named = { [profile.name]: profile } as Record<string, typeof profile>;
  const underItsPlan = (changed: StepProofStatement): string => {
    try {
      const known = named[changed.profile];
      if (known === undefined) return 'STEP_PLAN';
      return codeOfProof(derivePlanUnchecked(changed.manifest, known, changed.variant), changed, proof);
    } catch (error) {
      if (error instanceof Rejection) return error.code;
      throw error;
    }
  };

  it('are accepted unchanged', () => {
    expect(underItsPlan(statement)).toBe('accepted');
  });

  // A record more leaves order and superblocks as they are; one superblock less does not.
  const special: Record<string, (leaf: unknown) => unknown> = {
    recordCount: (count) => (count as number) - 4,
    'manifest.superblock': (size) => 2 * (size as number),
    'manifest.seed': () => `0x${'33'.repeat(32)}`,
  };
  const leaves = leavesOf(statement);

  it('are those of the interface', () => {
    const top = new Set(leaves.map(([name]) => name));
    expect([...top].sort()).toEqual(Object.keys(statement).sort());
    expect(leaves.length).toBeGreaterThan(30);
  });

  it.each(leaves.map((path) => [path.join('.'), path] as const))('%s', (name, path) => {
    const change = special[name] ?? changedLeaf;
    const code = underItsPlan(withLeaf(statement, path as Path, change));
    expect(code).toMatch(/^(STEP_(POW|PLAN|STATEMENT|MERKLE_\w+|FINAL_CHECK|NONCANONICAL)|MERKLE_PATH)$/);
  });

  it.each<[string, Partial<StepProofStatement>]>([
    ['another job', { outerDigest: seedOf('another job') }],
    ['the next segment', { index: 1 }],
    ['weights before and after exchanged', { before: statement.after, after: statement.before }],
    ['a step that changes nothing', { after: statement.before }],
    ['the other variant', { variant: other }],
  ])('do not carry the proof over to %s', (_name, change) => {
    expect(underItsPlan({ ...statement, ...change })).toMatch(/^(STEP_|MERKLE_PATH)/);
  });

  it('do not carry a proof over between plans of one size', () => {
    const manifest = { ...statement.manifest, e: statement.manifest.e.map((e) => e + 1) };
    expect(codeOfProof(derivePlanUnchecked(manifest, profile, variant), { ...statement, manifest }, proof)).toMatch(
      /^(STEP_|MERKLE)/,
    );
    expect(codeOfProof(plan, statement, proofs[other].proof)).toMatch(/^STEP_/);
  });
});
