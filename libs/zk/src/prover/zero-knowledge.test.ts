import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation';
import { createEngine } from '../kernels/index.js';
import { testSegment, type SegmentChoice } from '../testing/segments.js';
import { KernelBackend } from './kernel-backend.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const prove = (choice: SegmentChoice) => {
  const { plan, input } = testSegment(backend, choice);
  return { plan, ...proveSegment(backend, plan, input) };
};

/** 16-byte words of a proof from its start: v_S and every message of the flow. */
function messages(proof: Uint8Array, count: number): string[] {
  return Array.from({ length: count }, (_, i) => toHex(proof.subarray(16 * i, 16 * i + 16)));
}

describe('prover randomness (SPEC §13.5)', () => {
  const first = prove({});

  it('gives the same bytes again for the same secret and statement', () => {
    expect(toHex(prove({}).proof)).toBe(toHex(first.proof));
  });

  it.each<[string, SegmentChoice]>([
    ['secrets', { secret: 'another' }],
    ['outer statements', { job: 'another' }],
    ['segments', { index: 1 }],
  ])('shares no message, seed or root between %s', (_name, choice) => {
    const other = prove(choice);
    const count = 1 + first.plan.messages.maskedMessages + 2 * first.plan.messages.products + 2;
    const seen = new Set(messages(first.proof, count));
    expect(messages(other.proof, count).filter((message) => seen.has(message))).toEqual([]);
    expect(toHex(other.after.seed)).not.toBe(toHex(first.after.seed));
    expect(toHex(other.statement.after.root)).not.toBe(toHex(first.statement.after.root));
  });

  it('sends messages that look uniform: no zero, no small value, no repetition', () => {
    const { plan, proof } = first;
    const count = 1 + plan.messages.maskedMessages + 2 * plan.messages.products + 2;
    const words = messages(proof, count);
    expect(new Set(words).size).toBe(count);
    for (const word of words) {
      expect(BigInt(`0x${word.slice(0, 16)}`)).toBeGreaterThan(2n ** 40n);
      expect(BigInt(`0x${word.slice(16)}`)).toBeGreaterThan(2n ** 40n);
    }
  });

  it('opens symbols that do not repeat between secrets', () => {
    const other = prove({ secret: 'another' });
    const tail = (proof: Uint8Array): Set<string> => {
      const words = new Set<string>();
      for (let at = 8 * 3000; at + 8 <= proof.length; at += 8) words.add(toHex(proof.subarray(at, at + 8)));
      return words;
    };
    const shared = [...tail(first.proof)].filter((word) => tail(other.proof).has(word));
    expect(shared.length).toBeLessThan(first.proof.length / 8 / 20);
  });
});
