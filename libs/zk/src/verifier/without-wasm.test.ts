import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { testSegment } from '../testing/segments.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const { plan, input } = testSegment(backend);
const { proof, statement } = proveSegment(backend, plan, input);

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('where there is no WebAssembly', () => {
  it('the references verify the same proof, and reject a changed one', async () => {
    vi.stubGlobal('WebAssembly', undefined);
    vi.resetModules();
    const { arithmetic, bigintArithmetic } = await import('../commit/field/arithmetic.js');
    const { keccakMany, hashManyReference } = await import('../commit/keccak.js');
    expect([arithmetic, keccakMany]).toEqual([bigintArithmetic, hashManyReference]);
    const { Transcript } = await import('../transcript/transcript.js');
    const { ProofBytes } = await import('./source.js');
    const { runVerifier } = await import('./verify.js');
    const verify = (bytes: Uint8Array) => runVerifier(plan, statement, new Transcript(), new ProofBytes(bytes));
    expect(verify(proof).stepSizes).toEqual([1]);
    const changed = Uint8Array.from(proof);
    changed[proof.length - 20]! ^= 1;
    expect(() => verify(changed)).toThrow('STEP_');
  });
});
