import { expect, it } from 'vitest';
import { openSource } from '#libs/data';
import { dataFormats, type DataFormat } from './data-files.js';
import { fuzzData } from './data-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants of each format, VERITRAIN_SEED the seed; the long run takes 10,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 60);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_124);

it.each(Object.keys(dataFormats) as DataFormat[])(
  `takes or refuses ${count} mutants of %s of seed ${seed}`,
  async (kind) => {
    const report = await fuzzData(kind)(count, seed);
    expect(report.failures.slice(0, 3)).toEqual([]);
    expect(report.refused).toBeGreaterThan(0.2 * count);
  },
  7_200_000,
);

it('finds a reader that dies, and one that drops a cell', async () => {
  const dying = await fuzzData('csv', () => Promise.reject(new RangeError('planted')))(5, seed);
  expect(dying.crashes).toBe(5);
  const dropping = await fuzzData('npy', async (...given) => {
    const source = await openSource(...given);
    return {
      ...source,
      async *rows(from) {
        for await (const batch of source.rows(from)) yield { ...batch, rows: batch.rows.map((row) => row.slice(1)) };
      },
    };
  })(60, seed);
  expect(dropping.accepted).toBeGreaterThan(0);
});
