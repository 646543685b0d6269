/** What a relu lets through, where a graph asks that of the maxima behind it (libs/step/SPEC.md §26): as the reference has it. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildNetTrainGraph, drawnParameters, type NetManifest } from '#libs/step';
import {
  engineOutcome,
  randomExamples,
  randomParameters,
  referenceOutcome,
  seeded,
  smallNet,
} from '#test/net-agreement';

const fraction = { min: 8, max: 14 };
const one = fc.record({
  seed: fc.nat(),
  // So low that most windows hold several numbers at an end.
  abits: fc.constantFrom(1, 3, 6, 15),
  k: fc.constantFrom([1, 2], [2, 2], [2, 3], [5, 4]),
  ...{ g: fc.integer(fraction), gOfPool: fc.integer(fraction), gOfRelu: fc.integer(fraction) },
  weights: fc.constantFrom(2 ** -9, 2 ** -5, 2 ** -2),
  overflow: fc.constantFrom('saturate', 'fail'),
});
type One = typeof one extends fc.Arbitrary<infer T> ? T : never;

/** A relu over maps [5, 6, 2], read by a maxpool and, where asked, by a mean too. */
function netOf({ abits, k, g, gOfPool, gOfRelu, overflow }: One, isShared: boolean): NetManifest {
  const layers = [
    { id: 'c', op: 'conv2d', k: [1, 1], out: 2, g },
    { id: 'r', op: 'relu', abits, g: gOfRelu },
    { id: 'p', op: 'maxpool', k, g: gOfPool },
    ...(isShared
      ? [
          { id: 'm', op: 'avgpool', in: 'r', k, g: gOfPool },
          { op: 'add', in: ['p', 'm'], g: gOfPool },
        ]
      : []),
    ...[{ op: 'flatten' }, { op: 'dense', out: 3 }],
  ];
  return smallNet(layers, { overflow, input: { shape: [5, 6, 2], dtype: 'int16', frac: 8 } });
}

async function agrees(m: NetManifest, { seed, weights }: One): Promise<void> {
  const next = seeded(seed);
  const parameters = randomParameters(m, next, weights);
  const examples = randomExamples(m, next, 2 ** -6);
  const expected = referenceOutcome(m, parameters, examples);
  expect(await engineOutcome(m, parameters, examples)).toEqual(expected);
}

it.each([false, true])('a relu before maxima, also read by another layer: %s', async (isShared) => {
  await fc.assert(
    fc.asyncProperty(one, (drawn) => agrees(netOf(drawn, isShared), drawn)),
    { numRuns: 60, seed: 20_261_129 },
  );
});

it('an error that its rounding takes out of range is refused, where the relu masks it too', async () => {
  const layers = [
    { op: 'conv2d', k: [1, 1], out: 1 },
    { op: 'relu', abits: 1, g: 20 },
    { op: 'maxpool', k: [1, 1], g: 10 },
    { op: 'flatten' },
  ];
  const m = smallNet(layers, {
    ...{ overflow: 'fail', batch: 1, input: { shape: [1, 1, 1], frac: 8 } },
    ...{ labelShape: [1], loss: { kind: 'mse' }, g: 10 },
  });
  const parameters = drawnParameters(m).map((one) => ({ ...one, values: one.values.fill(0n) }));
  const examples = { count: 1, features: Uint8Array.of(1), labels: Int32Array.of(1000) };
  expect(referenceOutcome(m, parameters, examples)).toEqual({ isRefused: true });
  expect(await engineOutcome(m, parameters, examples)).toEqual({ isRefused: true });
});

it('a graph that counts on every edge keeps the relu where it stands', () => {
  const m = netOf(fc.sample(one, { numRuns: 1, seed: 1 })[0]!, false);
  const sizeOf = (isCounted: boolean) => {
    const way = { isQuick: true, isWatched: false, hasBytes: false, isCounted };
    return Buffer.from(buildNetTrainGraph(m, way).model).toString('latin1').split('Clip').length;
  };
  expect(sizeOf(true)).toBeGreaterThan(sizeOf(false));
});
