/** The engine alone on a validation set: figures of the reference, and the end that the manifest's rule brings. */
import { expect, it } from 'vitest';
import { concatBytes } from '#attestation/base';
import {
  decodeWeights,
  netForwardReference,
  NetMeasurement,
  parametersOf,
  parseNetManifest,
  splitNetRecords,
} from '#libs/step';
import { parseEngineRequest, runEngine } from './engine-run.js';
import type { Evaluated } from './validation.js';

const steps = 12;
const manifest = {
  ...{ fxt: 2, seed: `0x${'3c'.repeat(32)}`, batch: 4, steps, input: { shape: [5], frac: 8 }, a: 8, g: 12, wint: 3 },
  ...{ layers: [{ op: 'dense', out: 3 }], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
  optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 3_000_000]] } },
  evaluate: { every: 2, metrics: ['accuracy', 'loss'] },
};
const made = (count: number, factor: number) =>
  Uint8Array.from({ length: count * 6 }, (_, i) => (i % 6 === 5 ? (i * factor) % 3 : (i * 97 * factor) & 255));
const [records, apart] = [made(8, 5), made(7, 11)];
const stop = (patience: number) => ({ ...manifest, stop: { metric: 'loss', patience, minimum: 1 } });

async function run(of: object, request: object = {}) {
  const told: Evaluated[] = [];
  let out: Uint8Array = new Uint8Array();
  const sources: Readonly<Record<string, Uint8Array>> = { records, apart };
  const full = { manifest: of, records: 'records', validation: 'apart', digestAt: [steps], out: 'out', ...request };
  const report = await runEngine(
    parseEngineRequest(full),
    {
      read: (path) => Promise.resolve(sources[path]!),
      find: () => Promise.resolve(null),
      write: (_, parts) => Promise.resolve(void (out = concatBytes(...parts))),
    },
    () => performance.now(),
    { onProgress: () => undefined, onEvaluation: (one) => told.push(one) },
  );
  return { report, told, out };
}

it('tells what the reference counts, at the steps that the manifest names', async () => {
  const digestAt = [2, 4, 6, 8, 10, 12];
  const { report, told, out } = await run(manifest, { digestAt });
  expect(told.map(({ step }) => step)).toEqual(digestAt);
  expect(report.best).toBeUndefined();
  const m = parseNetManifest(manifest);
  const examples = splitNetRecords(m, apart);
  const measurement = new NetMeasurement(m);
  const { data } = netForwardReference(m, parametersOf(m, decodeWeights(m, out), []), examples);
  measurement.add(Array.from(data, Number), examples.labels);
  const counted = measurement.results().map(({ metric, numerator, denominator }) => ({
    ...{ metric, numerator: String(numerator), denominator: String(denominator) },
  }));
  expect(told.at(-1)!.metrics).toEqual(counted);
});

it('ends where the rule ends it, with the state of the best evaluation', async () => {
  const digestAt = [2, 4, 6, 8, 10, 12];
  const whole = await run(manifest, { digestAt });
  const losses = whole.told.map(({ metrics }) => Number(metrics[1]!.numerator));
  // The rate is so high that the loss rises in between.
  const worse = losses.findIndex((loss, i) => i > 0 && loss >= Math.min(...losses.slice(0, i)));
  expect(worse).toBeGreaterThan(0);
  expect(worse).toBeLessThan(losses.length - 1);
  const { report, told, out } = await run(stop(1));
  expect(told).toEqual(whole.told.slice(0, worse + 1));
  const best = digestAt[losses.indexOf(Math.min(...losses.slice(0, worse + 1)))]!;
  expect(report.best).toEqual({ done: digestAt[worse], step: best, digest: whole.report.digests[best] });
  expect(out).toEqual((await run(manifest, { digestAt: [best] })).out);
});

it('refuses what it cannot keep', async () => {
  await expect(run({ ...manifest, evaluate: null })).rejects.toThrow('ENGINE_REQUEST');
  await expect(run(stop(1), { checkpoint: { path: 'held', everySteps: 2 } })).rejects.toThrow('ENGINE_REQUEST');
  expect(() => parseEngineRequest({ manifest, records: 'records', validation: 1, digestAt: [1] })).toThrow(
    'ENGINE_REQUEST',
  );
});
