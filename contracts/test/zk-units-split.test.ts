/** Proofs of several segments in two transactions (libs/zk/SPEC.md §20, contracts/SPEC.md §11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backend } from './zk-cases.js';
import { inTypeScript } from './zk-chain.js';
import { sealSegment, splitSelector } from './zk-seal.js';
import {
  beginning,
  openSplitVerifiers,
  splitSegment,
  type SplitSegment,
  type SplitVerifiers,
} from './zk-split-chain.js';
import { firstPartMaySay, flipped, placesOf, random } from './zk-split-places.js';
import { splitUnits } from './zk-unit-cases.js';

let onChain: SplitVerifiers;
beforeAll(async () => {
  onChain = await openSplitVerifiers();
}, 60_000);
afterAll(() => onChain?.stop());

const verdict = (said: unknown): string => (typeof said === 'string' ? said : 'accepted');
const send = async (name: string, args: readonly unknown[]): Promise<string> =>
  verdict(await onChain.send('weak', name, args));

describe.each(splitUnits)('a unit in two parts: %s', (_name, choice) => {
  let unit: SplitSegment;
  let places: ReturnType<typeof placesOf>;
  beforeAll(() => {
    unit = splitSegment(sealSegment(backend, choice));
    places = placesOf(unit);
  });

  const begin = (head: Uint8Array): Promise<string> => send('begin', beginning(unit, head));
  const finish = (openings: Uint8Array): Promise<string> => send('finish', [unit.digest, unit.parts.rest, openings]);
  const whole = (place: number, bit: number): string =>
    inTypeScript(unit.plan, unit.statement, flipped(unit.fields.proof, place, bit));

  it('is refused with a byte changed in the first part, as the whole proof is', { timeout: 120_000 }, async () => {
    const seen = new Set<string>();
    for (let k = 0; k < 60; k++) {
      const at = random(k, unit.parts.head.length);
      const said = await begin(flipped(unit.parts.head, at, k % 8));
      const code = places.head[at]! < 0 ? undefined : whole(places.head[at]!, k % 8);
      // Rows stand in no proof.
      if (code === undefined) expect(['STEP_FINAL_CHECK', 'STEP_NONCANONICAL']).toContain(said);
      else expect(firstPartMaySay(code), `byte ${at}`).toContain(said);
      seen.add(said);
    }
    expect(seen).not.toContain('accepted');
    expect(seen.size).toBeGreaterThan(3);
  });

  it('is refused with a byte changed in the second, and else a fact', { timeout: 120_000 }, async () => {
    expect(await begin(unit.parts.head)).toBe('accepted');
    for (let k = 0; k < 40; k++) {
      const at = random(k, unit.parts.openings.length);
      expect(await finish(flipped(unit.parts.openings, at, k % 8)), `byte ${at}`).toBe(
        whole(places.openings[at]!, k % 8),
      );
    }
    expect(await send('verify', [splitSelector, unit.digest])).toBe('FACT_MISSING');
    expect(await finish(unit.parts.openings)).toBe('accepted');
    expect(await send('verify', [splitSelector, unit.digest])).toBe('accepted');
  });

  it('is no unit without the superblocks that its segments read', async () => {
    const sizes = unit.fields.sizes.subarray(0, unit.plan.shape.steps);
    const other = { ...unit, fields: { ...unit.fields, sizes } };
    expect(await send('begin', beginning(other, unit.parts.head))).toBe('STEP_STATEMENT');
  });
});
