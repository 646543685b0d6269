/**
 * The profile for large nets on a real one, 784-256-128-64-10 with batches of 512, four steps: proved, verified through the
 * door, its start recognised, its masks seen and missed. Minutes of CPU time and two gigabytes: it runs where
 * VERITRAIN_LONG is 1.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights, profileManifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { startSeed } from '../commit/layout/start.js';
import { profileNamed } from '../commit/params.js';
import { derivePlan } from '../relation/plan.js';
import { freezeChallenges } from '../testing/lies.js';
import { testSeed, testSegment } from '../testing/segments.js';
import { partsOf, type ProofPart } from '../testing/structure.js';
import { verifyStart } from '../verifier/start.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { proveSegment, type SegmentProof } from './prove.js';

const runs = process.env['VERITRAIN_LONG'] === '1';
const profile = profileNamed('large');
const manifest = profileManifest('fx1', {
  ...{ dims: [784, 256, 128, 64, 10], batch: 512, e: 11, steps: 4, superblock: 4, seed: testSeed },
});

afterEach(() => vi.restoreAllMocks());

function prove(secret: string): SegmentProof {
  const backend = new KernelBackend(createEngine({ rowLogMax: profile.m, memoryBytesMax: 4 * 2 ** 30 }));
  const before = { weights: initialWeights(manifest), seed: startSeed(manifest) };
  const { plan, input } = testSegment(backend, { manifest, profile, before, secret });
  return proveSegment(backend, plan, input);
}

/** Messages before level 1 that depend on hidden values: W0 and D have their values outside the domain from elsewhere. */
function hiddenMessages({ proof, statement }: SegmentProof): string[] {
  const parts = partsOf(derivePlan(manifest, profile, 'joint'), statement, proof);
  const until = parts.findIndex(({ kind }) => kind === 'root');
  const messages = parts.slice(3 * profile.oodPoints, until).filter(({ kind }) => kind !== 'nonce');
  return messages.map(({ offset, length }: ProofPart) => toHex(proof.subarray(offset, offset + length)));
}

/** Places where two proofs with the same challenges say the same. */
function agreed(): { readonly places: readonly number[]; readonly of: number; readonly ones: number } {
  const thaw = freezeChallenges();
  const [one, another] = ['one', 'another'].map((secret) => hiddenMessages(prove(secret))) as [string[], string[]];
  thaw();
  const words = [...one, ...another].map((message) => BigInt(`0x${message.slice(8, 16)}${message.slice(24, 32)}`));
  const ones = words.reduce((sum, word) => sum + [...word.toString(2)].filter((bit) => bit === '1').length, 0);
  return { places: one.flatMap((message, k) => (message === another[k] ? [k] : [])), of: one.length, ones };
}

describe.skipIf(!runs)('the profile for large nets', () => {
  it('proves four steps that its verifier accepts, from the start of the job', { timeout: 1_800_000 }, () => {
    const { proof, statement } = prove('one');
    const { soundnessBits, stepCount } = verifyStart(proof, statement);
    expect(soundnessBits).toBeGreaterThanOrEqual(100);
    expect(stepCount).toBe(4);
    expect(() =>
      verifyStart(
        proof.map((byte, i) => (i === 5000 ? byte ^ 1 : byte)),
        statement,
      ),
    ).toThrow(/^STEP_/);
  });

  it('hides every message, and would show a missing mask', { timeout: 1_800_000 }, () => {
    const masked = agreed();
    expect(masked.places).toEqual([]);
    expect(masked.of).toBeGreaterThan(600);
    // The lower halves of both words are even: 64 bits a message, five standard deviations.
    const bits = 2 * masked.of * 64;
    expect(Math.abs(masked.ones - bits / 2)).toBeLessThan(5 * Math.sqrt(bits / 4));
    const fill = mask.fillPads;
    vi.spyOn(mask, 'fillPads').mockImplementation((engine, plan, cells, key) => {
      const pads = fill(engine, plan, cells, key).fill(0n);
      cells.block('S', 'pad').fill(0n);
      return pads;
    });
    expect(agreed().places.length).toBeGreaterThan(300);
  });
});
