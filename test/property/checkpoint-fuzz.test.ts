import { expect, it } from 'vitest';
import { openCheckpoint } from '#libs/sealing';
import { decodeWeights } from '#libs/step';
import { openPartial } from '../../enclave/src/partial.js';
import { startOf } from '../../enclave/src/trainer.js';
import { fuzzCheckpoints } from './checkpoint-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 600);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`N2 an enclave goes on from none of ${count} mutants of checkpoints and partials of seed ${seed}, and does not crash`, async () => {
  const report = await fuzzCheckpoints(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.9 * count);
}, 7_200_000);

it('finds an enclave that opens a checkpoint and believes it', async () => {
  const report = await fuzzCheckpoints(300, seed, undefined, {
    partial: openPartial,
    async checkpoint(job, key, sealed) {
      const { step, borders, weights, links, sessions } = await openCheckpoint(key, job.jobId, sealed);
      const chain = { links, sessions, evaluations: [] };
      return { step, borders, weights: decodeWeights(job.manifest, weights), chain, best: null };
    },
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);

it('finds an enclave that dies of what it did not expect', async () => {
  const report = await fuzzCheckpoints(100, seed, undefined, {
    checkpoint: startOf,
    partial: async (job, sealed) => {
      if (sealed.length % 2 === 0) throw new RangeError('planted');
      return openPartial(job, sealed);
    },
  });
  expect(report.crashes).toBeGreaterThan(0);
}, 600_000);
