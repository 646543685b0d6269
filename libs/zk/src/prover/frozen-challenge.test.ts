/**
 * What each challenge is good for: with it known in advance a false statement is accepted; drawn from the transcript it
 * is not. The frozen verifier draws every challenge from a stream that does not depend on the proof.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Rejection } from '#attestation';
import { extFromDigest } from '../field/bytes.js';
import * as F from '../field/extension.js';
import { add, inverse, inversePowerOfTwo, mul, sub } from '../field/goldilocks.js';
import { createEngine } from '../kernels/index.js';
import { seedOf, testSegment } from '../testing/segments.js';
import { SITE, type Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier } from '../verifier/verify.js';
import type { SegmentWitness } from './execute.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { countLookups } from './multiplicities.js';
import { omegaVector } from './omega-vector.js';
import * as opening from './opening-script.js';
import { proveWitness, runSegment } from './prove.js';
import { lifted } from './sumcheck-script.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const { plan, input } = testSegment(backend);

afterEach(() => vi.restoreAllMocks());

/** Challenge number `count` of a site, the same in every run. */
function frozen(site: Site, count: number): Uint8Array {
  return seedOf(`frozen ${SITE[site]} ${count}`);
}

function freeze(): void {
  vi.spyOn(Transcript.prototype, 'digest').mockImplementation(function (this: Transcript, site) {
    const counters = (this as unknown as { counts?: Map<Site, number> }).counts ?? new Map<Site, number>();
    (this as unknown as { counts?: Map<Site, number> }).counts = counters;
    const count = counters.get(site) ?? 0;
    counters.set(site, count + 1);
    return frozen(site, count);
  });
}

function verdict(forge: (segment: SegmentWitness) => void): string {
  const segment = runSegment(backend, plan, input);
  forge(segment);
  const { result } = proveWitness(backend, plan, input, segment);
  try {
    runVerifier(plan, result.statement, new Transcript(), new ProofBytes(result.proof));
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}

/** A limb that is out of range by one high unit; the rounding relation still holds. */
function wrongLimb(segment: SegmentWitness): void {
  segment.witness.get('l1')![0]! += 2 ** (plan.shape.layers[0]!.forwardShift - 16);
  segment.witness.get('h1')![0]! -= 1;
  for (const [name, counts] of countLookups(plan.shape, segment)) segment.witness.set(name, counts);
}

/** Replaces message number `place` of the opening. */
function changeOpening(place: number, change: (honest: F.Ext, input: opening.OpeningInput) => F.Ext): void {
  const script = opening.openingScript;
  vi.spyOn(opening, 'openingScript').mockImplementation(function* (given) {
    const shift = change(F.ZERO, given);
    let count = 0;
    for (const message of script(given)) yield count++ === place ? F.add(message, shift) : message;
  });
}

/** By how much the combined claim is wrong: target − ⟨Ω, w⟩. */
function claimError({ cells, combined }: opening.OpeningInput): F.Ext {
  const mark = backend.mark();
  const truth = backend.dot(omegaVector(backend, plan, combined), lifted(backend, cells.global));
  backend.release(mark);
  return F.sub(combined.target, truth);
}

/** 2^m·2^-n, from a sum over the hypercube to the claim after the row rounds. */
const scale = inversePowerOfTwo(plan.rowVars);

describe('frozen challenges', () => {
  it('accept honest proofs', () => {
    freeze();
    expect(verdict(() => undefined)).toBe('accepted');
  });

  it('α known: two multiplicities make a wrong lookup vanish', () => {
    const alpha = extFromDigest(frozen('alpha', 0));
    vi.spyOn(mask, 'proverKey').mockImplementation((_secret, _statement, _plan, cells) => {
      const counts = cells.block('S', 'mR');
      compensate(counts, alpha, wrongEntries(cells.block('S', 'l1')[0]!));
      return seedOf('key');
    });
    freeze();
    expect(verdict(wrongLimb)).toBe('accepted');
    vi.mocked(Transcript.prototype.digest).mockRestore();
    expect(verdict(wrongLimb)).toBe('STEP_FINAL_CHECK');
  });

  it('δ known: u absorbs any false claim', () => {
    const delta = extFromDigest(frozen('delta', 0));
    changeOpening(2 * plan.rowVars, (_u, given) => F.neg(F.mul(delta, F.scale(claimError(given), scale))));
    freeze();
    expect(verdict(wrongLimb)).toBe('accepted');
    vi.mocked(Transcript.prototype.digest).mockRestore();
    expect(verdict(wrongLimb)).toBe('STEP_FINAL_CHECK');
  });

  it('β1 known: the level-1 value absorbs any false claim', () => {
    const [delta, beta1] = [extFromDigest(frozen('delta', 0)), extFromDigest(frozen('beta1', 0))];
    changeOpening(2 * plan.rowVars + 2, (_v, given) => {
      const error = F.mul(delta, F.scale(claimError(given), scale));
      return F.neg(F.mul(error, F.inverse(beta1)));
    });
    freeze();
    expect(verdict(wrongLimb)).toBe('accepted');
    vi.mocked(Transcript.prototype.digest).mockRestore();
    expect(verdict(wrongLimb)).toBe('STEP_FINAL_CHECK');
  });
});

/** The value the range table lacks: the scaled limb. */
function wrongEntries(low: bigint): bigint {
  return low * 2n ** BigInt(32 - plan.shape.layers[0]!.forwardShift);
}

/** Adds x to entry 0 and y to entry 1 so that x/(α − 0) + y/(α − 1) = 1/(α − wrong); x and y in the base field. */
function compensate(counts: BigUint64Array, alpha: F.Ext, wrong: bigint): void {
  const reciprocal = (value: bigint): F.Ext => F.inverse(F.sub(alpha, F.fromInteger(value)));
  const [a, b, c] = [reciprocal(0n), reciprocal(1n), reciprocal(wrong)];
  const determinant = inverse(sub(mul(a.c0, b.c1), mul(b.c0, a.c1)));
  const x = mul(sub(mul(c.c0, b.c1), mul(b.c0, c.c1)), determinant);
  const y = mul(sub(mul(a.c0, c.c1), mul(c.c0, a.c1)), determinant);
  counts[0] = add(counts[0]!, x);
  counts[1] = add(counts[1]!, y);
}
