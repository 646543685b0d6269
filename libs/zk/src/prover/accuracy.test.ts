import { describe, expect, it } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { rightByReference, testCount, codeOfCount } from '../testing/accuracy.js';
import { KernelBackend } from './kernel-backend.js';
import { proveAccuracy } from './prove-accuracy.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

describe('a', () => {
  it('b', () => {
    const { plan, input } = testCount(backend);
    const { proof, statement } = proveAccuracy(backend, plan, input);
    expect(statement.correct).toBe(rightByReference(statement.manifest, input.weights.weights, input.examples));
    expect(codeOfCount(plan, statement, proof)).toBe('accepted');
  });
});
