import { expect, it } from 'vitest';
import { escrowThatIs } from '#test/tiny-job';
import type { Escrows } from '../../apps/key-broker/src/escrow.js';
import { fuzzRest } from './rest-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 400);
const only = 'POST /v1/releases';
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`answers ${count} mutants of REST bodies of seed ${seed} with codes, and takes none that is not genuine`, async () => {
  const report = await fuzzRest(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.6 * count);
}, 7_200_000);

it('finds a key broker that does not ask the chain', async () => {
  const report = await fuzzRest(400, seed, undefined, { only, escrow: () => escrowThatIs('Open') });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);

it('finds a key broker in which something fails that nobody foresaw', async () => {
  const escrow = (real: Escrows): Escrows => ({
    ...real,
    async stateOf(terms) {
      const state = await real.stateOf(terms);
      if (state.latest === 'None') throw new TypeError('planted');
      return state;
    },
  });
  const report = await fuzzRest(400, seed, undefined, { only, escrow });
  expect(report.failures.map(({ what }) => what)).toContain('answered 500 INTERNAL');
}, 600_000);
