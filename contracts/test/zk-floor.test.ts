/**
 * Plans that the step verifier on chain takes, against the soundness that TypeScript computes (libs/zk/SPEC.md §12).
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Rejection, uintBe } from '#attestation/base';
import { createEngine, KernelBackend } from '#libs/zk';
import { profiles, type Profile } from '#libs/zk/verifier';
import { derivePlan, derivePlanUnchecked, planBytes } from '../../libs/zk/src/relation/plan.js';
import { soundnessBitsMin } from '../../libs/zk/src/soundness.js';
import { testManifest, testProfile } from '../../libs/zk/src/testing/segments.js';
import { Transcript } from '../../libs/zk/src/transcript/transcript.js';
import { inTypeScript, openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { floors, weakestBits } from './zk-floor.js';
import { sealSegment, type SealedSegment } from './zk-seal.js';

let onChain: StepVerifierOnChain;
let sealed: SealedSegment;
beforeAll(async () => {
  onChain = await openStepVerifier();
  sealed = sealSegment(new KernelBackend(createEngine({ rowLogMax: 16 })), { profile: profiles.get('small')! });
});
afterAll(() => onChain?.stop());

/** Places of words of a plan, behind the digest of its profile's name. */
const words = {
  queries0: 8,
  queries1: 9,
  grind0: 10,
  grind1: 11,
  grindFold: 12,
  grindFold1: 13,
  digestBytes: 14,
} as const;
const structure = ['m', 'logBlowup', 'randomRows', 'k1', 'logBlowup1'] as const;
const strengths = ['queries0', 'queries1', 'grind0', 'grind1', 'grindFold', 'grindFold1'] as const;

function withWord(place: number, by: number): Promise<string> {
  const plan = Uint8Array.from(sealed.fields.plan);
  const at = 32 + 4 * place;
  plan.set(uintBe(new DataView(plan.buffer).getUint32(at) + by, 4), at);
  return onChain.judgeStrictly({ ...sealed.fields, plan }, sealed.digest);
}

describe('Z-H2 the floor of plans on chain', () => {
  it('Z-H2 is what TypeScript computes', () => {
    const text = readFileSync(new URL('../src/verifiers/zk/ZkFloor.sol', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/hex"([0-9a-f]+)"/g)].map(([, row]) => row);
    expect(rows).toEqual(floors.map(({ row }) => Buffer.from(row).toString('hex')));
  });

  it('Z-H2 admits a row where every round has 100 bits, and none where one has less', () => {
    for (const { profile, row } of floors) {
      const [globalVars, rows, lookupVars] = row.slice(11) as [number, number, number];
      expect(weakestBits(profile, { globalVars, lookupVars, rowsPerTree: [rows] })).toBeGreaterThanOrEqual(
        soundnessBitsMin,
      );
      expect(weakestBits(profile, { globalVars: globalVars + 1 })).toBeLessThan(soundnessBitsMin);
      expect(weakestBits(profile, { lookupVars: lookupVars + 1 })).toBeLessThan(soundnessBitsMin);
      expect(structure.map((name) => profile[name])).toEqual(row.slice(0, 5));
      expect(strengths.map((name) => profile[name])).toEqual(row.slice(5, 11));
    }
  });

  it('Z-H2 refuses a proof that did no work for more bits than a hash has', async () => {
    class Idle extends KernelBackend {
      override grind(): Uint8Array {
        return new Uint8Array(8);
      }
    }
    const small = profiles.get('small')!;
    const profile = {
      ...small,
      grind0: 256 + small.grind0,
      grind1: 256 + small.grind1,
      grindFold: 264,
      grindFold1: 263,
    };
    // The prover runs the verifier's transcript, which would refuse.
    const grind = vi.spyOn(Transcript.prototype, 'grind').mockImplementation(function (
      this: Transcript,
      _hash,
      bits,
      nonceFor,
    ) {
      if (bits > 0) this.absorb(nonceFor(this.digest('pow'), bits));
    });
    const idle = sealSegment(new Idle(createEngine({ rowLogMax: 16 })), { profile });
    grind.mockRestore();
    expect(inTypeScript(idle.plan, idle.statement, idle.fields.proof)).toBe('STEP_POW');
    expect(await onChain.judgeStrictly(idle.fields, idle.digest)).toBe('STEP_POW');
  });

  it('Z-H2 takes a proof under a named profile', async () => {
    expect(await onChain.judgeStrictly(sealed.fields, sealed.digest)).toBe('accepted');
  });

  it.each(Object.entries(words))('Z-H2 refuses a plan with less: %s', async (name, place) => {
    expect(await withWord(place, name === 'digestBytes' ? -7 : -1)).toBe('STEP_PLAN');
    // With more it is a plan that may be agreed to; this statement's is another.
    if (name !== 'digestBytes') expect(await withWord(place, 1)).toBe('STEP_STATEMENT');
  });

  const manifest = testManifest();
  const behind = ['order', 'k', 'logBlowup', 'queries', 'grind', 'grindFold'];
  const end = derivePlan(manifest, profiles.get('chain64')!, 'joint');
  it.each(behind.slice(1))('Z-H2 refuses a plan of two levels with less: %s', async (name) => {
    const judged = async (by: number): Promise<string> => {
      const plan = planBytes(end);
      const at = plan.length - 4 * (behind.length - behind.indexOf(name));
      plan.set(uintBe(new DataView(plan.buffer).getUint32(at) + by, 4), at);
      return onChain.judgeStrictly({ ...sealed.fields, plan }, sealed.digest);
    };
    expect(await judged(-1)).toBe('STEP_PLAN');
    // Variables and rate make another code: more of them is no floor either.
    expect(await judged(1)).toBe(name === 'k' || name === 'logBlowup' ? 'STEP_PLAN' : 'STEP_STATEMENT');
    expect(await judged(0)).toBe('STEP_STATEMENT');
  });

  it('Z-H2 refuses two levels below the floor, and one point where the floor has two', async () => {
    const { deeper } = profiles.get('chain64')!;
    for (const change of [{ deeper: [...deeper!, { ...deeper![0]!, k: 1 }] }, { oodPoints: 1 } as const]) {
      const plan = planBytes(derivePlanUnchecked(manifest, { ...profiles.get('chain64')!, ...change }, 'joint'));
      expect(await onChain.judgeStrictly({ ...sealed.fields, plan }, sealed.digest)).toBe('STEP_PLAN');
    }
  });

  it('Z-H2 refuses on both sides what has less than 100 bits', async () => {
    const weak = sealSegment(new KernelBackend(createEngine({ rowLogMax: 16 })), {});
    expect(await onChain.judge(weak.fields, weak.digest)).toBe('accepted');
    expect(await onChain.judgeStrictly(weak.fields, weak.digest)).toBe('STEP_PLAN');
    const refusedHere = (profile: Profile): string => {
      try {
        derivePlan(testManifest(), profile, 'joint');
        return 'accepted';
      } catch (error) {
        return error instanceof Rejection ? error.code : String(error);
      }
    };
    expect(refusedHere(testProfile)).toBe('STEP_PLAN');
    expect(refusedHere(profiles.get('small')!)).toBe('accepted');
  });
});
