/** Every part of a proof about a set of records and every field of its statement, changed; and proofs of the other kind. */
import { describe, expect, it } from 'vitest';
import { Rejection, equalBytes } from '#attestation/base';
import { initialWeights, profileManifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { profileNamed } from '../commit/params.js';
import { commitData, commitWeights } from '../prover/commitments.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveAccuracy } from '../prover/prove-accuracy.js';
import { proveSegment } from '../prover/prove.js';
import { deriveAccuracyPlan, deriveAccuracyPlanUnchecked } from '../relation/accuracy-plan.js';
import { derivePlan } from '../relation/plan.js';
import { codeOfCount, partsOfCount, rightByReference, testCount, testRecords } from '../testing/accuracy.js';
import { codeOfProof, flipped } from '../testing/lies.js';
import { seedOf, testManifest, testProfile, testSeed, testSegment } from '../testing/segments.js';
import { leavesOf, withLeaf } from '../testing/structure.js';
import { Transcript } from '../transcript/transcript.js';
import { accuracyScheme, runAccuracyVerifier, verifyAccuracyProof, type AccuracyStatement } from './accuracy.js';
import { weightsDigestOf } from './index.js';
import { ProofBytes } from './source.js';
import { runVerifier } from './verify.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 15 }));
/** Grinding that no changed message passes by chance. */
const profile = {
  ...testProfile,
  ...{ m: 9, k1: 3, queries0: 4, queries1: 3, grind0: 14, grind1: 14, grindFold: 14, grindFold1: 14 },
};
const { plan, input } = testCount(backend, { profile });
const { proof, statement } = proveAccuracy(backend, plan, input);
const parts = partsOfCount(plan, statement, proof);

describe('parts of a proof', () => {
  it('are all of its bytes, of every tree but that of weights after', () => {
    expect(parts.reduce((sum, { length }) => sum + length, 0)).toBe(proof.length);
    const masked = parts.filter(({ kind }) => kind === 'masked');
    expect(masked.length).toBe(plan.messages.maskedMessages + 2 * plan.messages.products);
    expect([...new Set(parts.flatMap(({ tree }) => tree ?? []))].sort()).toEqual(['D', 'L1', 'S', 'W0']);
    expect(plan.trees.WT.rows.length).toBe(0);
  });

  it('are each rejected with their code when one bit changes', () => {
    const lastNonce = parts.findLastIndex(({ kind }) => kind === 'nonce');
    const wrong = parts.flatMap(({ kind, tree, offset, length }, k) => {
      if (k % 3 !== 0 && kind !== 'root') return [];
      const opened = kind === 'symbol' || kind === 'aux' || kind === 'sibling';
      const due = opened ? `STEP_MERKLE_${tree!}` : k <= lastNonce ? 'STEP_POW' : 'STEP_FINAL_CHECK';
      const got = codeOfCount(plan, statement, flipped(proof, offset + length - 1));
      return got === due ? [] : [{ kind, tree, k, got, due }];
    });
    expect(wrong).toEqual([]);
  });

  it('never make the verifier fail without a code, whatever the bytes', () => {
    const codes = new Set<string>();
    for (let k = 0; k < Number(process.env.VERITRAIN_MUTATIONS ?? 200); k++) {
      const random = new DataView(seedOf(`mutation ${k}`).buffer);
      const at = random.getUint32(0) % proof.length;
      const bytes = k % 5 === 0 ? proof.subarray(0, at) : flipped(proof, at, 1 << (random.getUint8(4) % 8));
      codes.add(codeOfCount(plan, statement, bytes));
    }
    for (const code of codes) expect(code).toMatch(/^STEP_/);
    expect(codes.size).toBeGreaterThan(4);
    expect(codeOfCount(plan, statement, Uint8Array.from([...proof, 0]))).toBe('STEP_PROOF_LENGTH');
    expect(codeOfCount(plan, statement, new Uint8Array(5_000_000))).toBe('STEP_PROOF_LENGTH');
  });
});

/** A different value of the same kind. */
function changedLeaf(leaf: unknown): unknown {
  if (leaf instanceof Uint8Array) return leaf.map((byte, i) => (i === leaf.length - 1 ? byte ^ 1 : byte));
  if (typeof leaf === 'number') return leaf + 1;
  return typeof leaf === 'string' ? `${leaf.slice(0, -1)}${leaf.endsWith('0') ? '1' : '0'}` : undefined;
}

describe('fields of a statement', () => {
  const underItsPlan = (changed: AccuracyStatement): string => {
    try {
      if (changed.profile !== profile.name) return 'STEP_PLAN';
      return codeOfCount(deriveAccuracyPlanUnchecked(changed.manifest, profile, changed.records), changed, proof);
    } catch (error) {
      if (error instanceof Rejection) return error.code;
      throw error;
    }
  };
  const special: Record<string, (leaf: unknown) => unknown> = {
    'manifest.superblock': (size) => 2 * (size as number),
    'manifest.seed': () => `0x${'33'.repeat(32)}`,
  };
  const leaves = leavesOf(statement);

  it('are those of the interface, and accepted unchanged', () => {
    expect(underItsPlan(statement)).toBe('accepted');
    const top = new Set(leaves.map(([name]) => name));
    expect([...top].sort()).toEqual(['correct', 'data', 'manifest', 'outerDigest', 'profile', 'records', 'weights']);
  });

  it.each(leaves.map((path) => [path.join('.'), path] as const))('%s', (name, path) => {
    const code = underItsPlan(withLeaf(statement, path, special[name] ?? changedLeaf));
    expect(code).toMatch(/^STEP_(POW|PLAN|STATEMENT|MERKLE_\w+|FINAL_CHECK|NONCANONICAL)$/);
  });

  it.each<[string, Partial<AccuracyStatement>, string]>([
    ['more records right than there are', { correct: 6 }, 'STEP_STATEMENT'],
    ['fewer than none', { correct: -1 }, 'STEP_STATEMENT'],
    ['half a record', { correct: 0.5 }, 'STEP_STATEMENT'],
    ['no number', { correct: Number.NaN }, 'STEP_STATEMENT'],
    ['no records', { records: 0, correct: 0 }, 'STEP_PLAN'],
    ['too many records', { records: 2 ** 17 + 1 }, 'STEP_PLAN'],
    ['part of a record', { records: 4.5 }, 'STEP_PLAN'],
    ['a short digest', { outerDigest: seedOf('other').subarray(1) }, 'STEP_STATEMENT'],
    ['a value above p', { data: { ...statement.data, ood: new Uint8Array(32).fill(255) } }, 'STEP_STATEMENT'],
    ['weights and records exchanged', { data: statement.weights, weights: statement.data }, 'STEP_POW'],
  ])('refuse %s', (_name, change, code) => {
    expect(underItsPlan({ ...statement, ...change })).toBe(code);
  });
});

describe('a proof of the other kind', () => {
  const segment = testSegment(backend, { profile, variant: 'separate', manifest: testManifest({ dims: [3, 4, 3] }) });
  const step = proveSegment(backend, segment.plan, segment.input);

  it('is not taken for a segment, nor a segment for a count', () => {
    expect(codeOfProof(segment.plan, step.statement, step.proof)).toBe('accepted');
    expect(codeOfProof(segment.plan, step.statement, proof)).toMatch(/^STEP_/);
    expect(codeOfCount(plan, statement, step.proof)).toMatch(/^STEP_/);
  });

  it('has another first word, another plan and another context', () => {
    expect(new Transcript(accuracyScheme).challenge('alpha')).not.toEqual(new Transcript().challenge('alpha'));
    const plain = (): void => runAccuracyVerifier(plan, statement, new Transcript(), new ProofBytes(proof));
    expect(plain).toThrow('STEP_');
    const named = (): void =>
      void runVerifier(segment.plan, step.statement, new Transcript(accuracyScheme), new ProofBytes(step.proof));
    expect(named).toThrow('STEP_');
    expect(equalBytes(plan.digest, segment.plan.digest)).toBe(false);
    expect(plan.variant).toBe('separate');
  });
});

describe('784-64-10 at 100 bits, through the door', () => {
  const manifest = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed: testSeed });
  const fast = profileNamed('fast64');
  const records = testRecords(manifest, 20);
  const weights = initialWeights(manifest);
  const own = deriveAccuracyPlan(manifest, fast, records.count);
  const [weightsSeed, dataSeed] = [seedOf('weights'), seedOf('set')];
  const made = proveAccuracy(backend, own, {
    statement: {
      ...{ manifest, profile: 'fast64', outerDigest: seedOf('outer'), records: 20 },
      weights: commitWeights(backend, own, weights, weightsSeed).commitment,
      data: commitData(backend, own, records, dataSeed).commitment,
    },
    ...{ weights: { weights, seed: weightsSeed }, examples: records, dataSeed, secret: seedOf('secret') },
  });

  it('is accepted, and says what it shows of which commitments', () => {
    const shown = verifyAccuracyProof(made.proof, made.statement);
    expect(shown.soundnessBits).toBeGreaterThanOrEqual(100);
    expect(shown.soundnessSumBits).toBeGreaterThan(97);
    expect(shown).toMatchObject({ records: 20, correct: rightByReference(manifest, weights, records) });
    expect(shown.soundnessRounds).toBe(own.soundness.terms);
  });

  it('speaks of the weights in the form that step proofs have', () => {
    const steps = derivePlan({ ...manifest, superblock: 64, steps: 64 }, fast, 'joint');
    const shown = verifyAccuracyProof(made.proof, made.statement);
    expect(equalBytes(shown.weights, weightsDigestOf(made.statement.weights, steps))).toBe(true);
  });

  it('is refused for one record more, and under another profile', () => {
    expect(() => verifyAccuracyProof(made.proof, { ...made.statement, correct: made.statement.correct + 1 })).toThrow(
      'STEP_',
    );
    expect(() => verifyAccuracyProof(made.proof, { ...made.statement, profile: 'large' })).toThrow('STEP_');
    expect(() => verifyAccuracyProof(made.proof, { ...made.statement, profile: 'none' })).toThrow('STEP_PLAN');
  });

  it('is refused of a net too wide for so many records before anything is laid out', () => {
    const wide = profileManifest('fx1', { dims: [16_384, 64, 10], batch: 64, e: 5, steps: 64, seed: testSeed });
    expect(() => deriveAccuracyPlan(wide, profileNamed('large'), 2 ** 17)).toThrow('1073741824');
  });

  it('is not proved of more records than a profile carries', () => {
    expect(() => deriveAccuracyPlan(manifest, fast, 10_000)).toThrow('out-of-domain');
    const large = deriveAccuracyPlan(manifest, profileNamed('large'), 10_000);
    expect(large.soundness.minBits).toBeGreaterThanOrEqual(100);
  });
});
