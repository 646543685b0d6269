import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { createEngine } from '../commit/kernels/index.js';
import type { Plan } from '../relation/plan.js';
import { changePads } from '../testing/flow-lies.js';
import { seedOf, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { KernelBackend } from './kernel-backend.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
afterEach(() => vi.restoreAllMocks());

const prove = (choice: SegmentChoice) => {
  const { plan, input } = testSegment(backend, choice);
  return { plan, ...proveSegment(backend, plan, input) };
};

/** 16-byte words of a proof from its start: v_S and every message of the flow. */
function messages(proof: Uint8Array, count: number): string[] {
  return Array.from({ length: count }, (_, i) => toHex(proof.subarray(16 * i, 16 * i + 16)));
}

describe('prover randomness (libs/zk/SPEC.md §13.5)', () => {
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

  it('hides every message: with the same challenges two secrets agree in none', () => {
    expect(withFixedChallenges(() => shared(prove({}), prove({ secret: 'another' })))).toEqual([]);
  });

  it('would catch a missing mask', () => {
    changePads((pads, cells) => [pads, cells.block('S', 'pad')].forEach((words) => words.fill(0n)));
    const same = withFixedChallenges(() => shared(prove({}), prove({ secret: 'another' })));
    expect(same.length).toBeGreaterThan(300);
  });

  it('blinds the opened symbols of the step witness and of the weights after', () => {
    const [a, b] = withFixedChallenges(() => [prove({}), prove({ secret: 'another' })]) as [Proved, Proved];
    const stored = a.plan.trees.S.rows.length + 6 + a.plan.trees.WT.rows.length;
    const start = openingOffset(a.plan);
    const symbols = ({ proof }: Proved): string[] =>
      Array.from({ length: stored }, (_, k) => toHex(proof.subarray(start + 8 * k, start + 8 * k + 8)));
    const other = symbols(b);
    expect(symbols(a).filter((symbol, k) => symbol === other[k])).toEqual([]);
  });
});

type Proved = ReturnType<typeof prove>;

/** v_S, the flow and the row rounds: all messages that depend on hidden values before the opening, with u and v_1. */
function openingOffset(plan: Plan): number {
  const { rowVars, messages } = plan;
  const flow = 16 * (1 + messages.maskedMessages + 2 * messages.products + 2);
  return flow + rowVars * (32 + 8) + 16 + 8 + 32 + 16 + 8;
}

/** Places where two proofs of one shape carry the same 16-byte message. */
function shared(a: Proved, b: Proved): number[] {
  const { rowVars, messages } = a.plan;
  const flow = 1 + messages.maskedMessages + 2 * messages.products + 2;
  const places = Array.from({ length: flow }, (_, k) => 16 * k);
  for (let j = 0; j < rowVars; j++) places.push(16 * flow + 40 * j, 16 * flow + 40 * j + 16);
  places.push(16 * flow + 40 * rowVars);
  const at = ({ proof }: Proved, place: number): string => toHex(proof.subarray(place, place + 16));
  return places.filter((place) => at(a, place) === at(b, place));
}

/** Challenges from a fixed stream, so that two runs differ in nothing but the prover's randomness. */
function withFixedChallenges<T>(run: () => T): T {
  vi.spyOn(Transcript.prototype, 'digest').mockImplementation(function (this: Transcript, site) {
    const counters = this as unknown as { drawn?: number };
    counters.drawn = (counters.drawn ?? 0) + 1;
    return seedOf(`challenge ${site} ${counters.drawn}`);
  });
  return run();
}
