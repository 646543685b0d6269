/** Steps over bigints: for a call in which weights strayed so far inside a segment that float64 need not carry them. */
import {
  explained,
  featureCount,
  GuardViolation,
  stepReference,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import type { LoadedDataset } from './loaded-dataset.js';

export interface ExactSteps {
  readonly weights: Weights;
  /** G_L of every step, [T, B, C]. */
  readonly error: Float64Array;
}

/**
 * @param blocks block of every step
 * @throws GuardViolation GUARD_VIOLATION; Rejection WEIGHTS_*
 */
export async function stepsExactly(
  manifest: Manifest,
  dataset: LoadedDataset,
  start: Weights,
  firstStep: number,
  blocks: Int32Array,
): Promise<ExactSteps> {
  const errors: number[] = [];
  let weights = start;
  for (const [i, block] of blocks.entries()) {
    const trace = exactStep(manifest, weights, blockOf(manifest, dataset, block), firstStep + i);
    weights = trace.weights;
    errors.push(...trace.layers.at(-1)!.G.data.map(Number));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { weights, error: Float64Array.from(errors) };
}

function exactStep(manifest: Manifest, weights: Weights, examples: Examples, step: number) {
  try {
    return stepReference(manifest, weights, examples, step, 'proved');
  } catch (error) {
    throw error instanceof GuardViolation ? explained(error, manifest, null) : error;
  }
}

function blockOf(m: Manifest, { feeds, labels }: LoadedDataset, block: number): Examples {
  const { batch } = m;
  const width = featureCount(m) * batch;
  const features = (feeds.features.data as Uint8Array).subarray(block * width, (block + 1) * width);
  return { count: batch, features, labels: Uint8Array.from(labels.subarray(block * batch, (block + 1) * batch)) };
}
