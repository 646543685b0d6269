import { describe, expect, it } from 'vitest';
import { equalBytes } from '#attestation/base';
import { profileManifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { profiles } from '../commit/params.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { testSeed, testSegment } from '../testing/segments.js';
import { openingBudget, verifyStepProof, weightsDigestOf } from './index.js';

describe('a step of 784-64-10 at 100 bits, through the door', () => {
  const engine = createEngine({ rowLogMax: 13 });
  const backend = new KernelBackend(engine);
  const manifest = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed: testSeed });
  const { plan, input } = testSegment(backend, { manifest, profile: profiles.get('chain1')! });
  const { proof, statement } = proveSegment(backend, plan, input);

  it('is accepted, in less than 100 kB', () => {
    const accepted = verifyStepProof(proof, statement);
    expect(proof.length).toBeLessThan(100_000);
    expect(accepted.soundnessBits).toBeGreaterThanOrEqual(100);
    expect(accepted.soundnessSumBits).toBeGreaterThan(97);
    expect([accepted.firstStep, accepted.stepCount]).toEqual([0, 1]);
    expect(equalBytes(accepted.weightsAfter, weightsDigestOf(statement.after, plan))).toBe(true);
    expect(openingBudget(plan.profile)).toBe(14);
  });

  it('is rejected for other weights and under another profile', () => {
    expect(() => verifyStepProof(proof, { ...statement, after: statement.before })).toThrow('STEP_');
    expect(() => verifyStepProof(proof, { ...statement, profile: 'chain16' })).toThrow('MERKLE_PATH');
    expect(() => verifyStepProof(proof, { ...statement, variant: 'separate' })).toThrow('STEP_');
    expect(() => verifyStepProof(proof, { ...statement, variant: 'other' as 'joint' })).toThrow('STEP_PLAN');
  });
});
