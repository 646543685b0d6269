/**
 * Model averaging at a border (libs/step/SPEC.md §8), each model with the same share: DIVR(Σ W_i, K), element by
 * element.
 */
import { workersMax } from '#attestation/base';
import { refuse } from './errors.js';
import { divRound } from './integers.js';
import type { JobManifest } from './job-manifest.js';
import type { Weights } from './tensors.js';
import { borderShapes, checkWeights } from './weights.js';

/** Below this |2n + d| a float64 carries DIVR exactly (libs/step/SPEC.md §10). */
const exactBelow = 2n ** 52n;

/**
 * Every model stays as it is; their order changes no bit. An average of values in range is in range.
 *
 * @param models 1 to workersMax sets of weights of this manifest
 * @throws Rejection AVERAGE_COUNT, WEIGHTS_SHAPE, WEIGHTS_RANGE
 */
export function averageWeights(m: JobManifest, models: readonly Weights[]): Weights {
  const count = models.length;
  if (count < 1 || count > workersMax)
    refuse('AVERAGE_COUNT', `1 to ${workersMax} models`, count, 'libs/step/SPEC.md §8');
  for (const model of models) checkWeights(m, model);
  return borderShapes(m).map(({ name, dims, range }, index) => {
    const parts = models.map((model) => model[index]!.values);
    const isExact = range !== undefined && BigInt(2 * count) * (range.high + 1n) + BigInt(count) < exactBelow;
    return { name, dims, values: isExact ? averageInFloat64(parts) : averageInIntegers(parts) };
  });
}

function averageInFloat64(parts: readonly BigInt64Array[]): BigInt64Array {
  const count = parts.length;
  const sums = new Float64Array(parts[0]!.length);
  for (const part of parts) for (let i = 0; i < sums.length; i++) sums[i]! += Number(part[i]!);
  const values = new BigInt64Array(sums.length);
  for (let i = 0; i < sums.length; i++) values[i] = BigInt(Math.floor((2 * sums[i]! + count) / (2 * count)));
  return values;
}

function averageInIntegers(parts: readonly BigInt64Array[]): BigInt64Array {
  const count = BigInt(parts.length);
  return parts[0]!.map((_, i) =>
    divRound(
      parts.reduce((sum, part) => sum + part[i]!, 0n),
      count,
    ),
  );
}
