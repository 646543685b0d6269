import { describe, expect, it } from 'vitest';
import { createEngine } from '../kernels/index.js';
import { testManifest, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

function proveAndVerify(choice: SegmentChoice) {
  const { plan, input } = testSegment(backend, choice);
  const result = proveSegment(backend, plan, input);
  const context = runVerifier(plan, result.statement, new Transcript(), new ProofBytes(result.proof));
  return { plan, result, context };
}

describe('honest proofs are accepted', () => {
  it('3-4-2, one step', () => {
    const { result } = proveAndVerify({});
    expect(result.proof.length).toBeGreaterThan(1000);
  });

  it.each([2, 4])('3-4-2, %i steps', (superblock) => {
    proveAndVerify({ manifest: testManifest({ superblock }) });
  });
});
