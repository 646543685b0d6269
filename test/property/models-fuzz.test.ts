import { expect, it } from 'vitest';
import { importOnnx, readSafetensors } from '#libs/models';
import { fuzzOnnx } from './onnx-fuzz.js';
import { fuzzSafetensors } from './safetensors-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 10,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 300);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_124);

it(`takes of ${count} mutants of ONNX files of seed ${seed} none for another model, and does not crash`, async () => {
  const report = await fuzzOnnx(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.2 * count);
  expect(report.taken).toBeGreaterThan(0.05 * count);
}, 7_200_000);

it(`takes of ${10 * count} mutants of safetensors files of seed ${seed} none for other tensors, and does not crash`, async () => {
  const report = await fuzzSafetensors(10 * count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.5 * count);
}, 7_200_000);

it('finds an import that turns a weight around, and one that dies', async () => {
  const turned = await fuzzOnnx(60, seed, undefined, (bytes) => {
    const model = importOnnx(bytes);
    return { ...model, parameters: model.parameters.map((one) => ({ ...one, values: one.values.toReversed() })) };
  });
  expect(turned.crashes).toBeGreaterThan(0);
  const dying = await fuzzOnnx(60, seed, undefined, (bytes) => {
    if (bytes.length % 3 === 0) throw new RangeError('planted');
    return importOnnx(bytes);
  });
  expect(dying.crashes).toBeGreaterThan(0);
}, 600_000);

it('finds a reader of safetensors that looks at the wrong place', async () => {
  const report = await fuzzSafetensors(200, seed, undefined, (bytes) =>
    readSafetensors(bytes).map((tensor) => ({ ...tensor, values: tensor.values.toReversed() })),
  );
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);
