/** Trains a net on the engine, or by the reference, and takes its state digests. */
import { toHex } from '#attestation/base';
import {
  averageWeights,
  blocksOfSteps,
  divideSteps,
  drawnParameters,
  frozenOf,
  netStepReference,
  startState,
  stateDigest,
  type Divided,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import type { EngineOptions } from '../../enclave/src/engine/engine.js';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';

/** @param at numbers of finished steps, rising @param options of the engine */
export async function engineDigests(
  m: NetManifest,
  examples: NetExamples,
  at: readonly number[],
  options: EngineOptions = {},
): Promise<string[]> {
  const start = drawnParameters(m);
  const engine = await NetEngine.open(m, frozenOf(m, start), options);
  try {
    const dataset = engine.load(examples);
    let state = startState(m, start);
    let done = 0;
    const digests: string[] = [];
    for (const next of at) {
      state = await engine.train({ dataset, weights: state, fromStep: done, stepCount: next - done });
      done = next;
      digests.push(toHex(stateDigest(m, state)));
    }
    return digests;
  } finally {
    await engine.close();
  }
}

/** @param at numbers of finished steps, rising */
export function referenceDigests(m: NetManifest, examples: NetExamples, at: readonly number[]): string[] {
  const start = drawnParameters(m);
  const frozen = frozenOf(m, start);
  let state = startState(m, start);
  const found: string[] = [];
  for (let step = 0; ; step++) {
    if (at.includes(step)) found.push(toHex(stateDigest(m, state)));
    if (step >= at.at(-1)!) return found;
    const block = blocksOfSteps(m, step, 1, examples.count)[0]!;
    state = netStepReference(m, state, frozen, blockOf(m, examples, block), step).state;
  }
}

/** State digest at the end of a job of several workers, which starts from these parameters; hexadecimal. */
export async function roundsDigest(
  m: NetManifest,
  examples: NetExamples,
  parameters: Weights,
  divided: Divided,
): Promise<string> {
  const { workers, segmentSteps, rounds } = divideSteps(m, divided);
  const engine = await NetEngine.open(m, frozenOf(m, parameters));
  try {
    const dataset = engine.load(examples);
    let weights = startState(m, parameters);
    for (let round = 0; round < rounds; round++) {
      const models: Weights[] = [];
      for (let worker = 0; worker < workers; worker++) {
        const fromStep = (round * workers + worker) * segmentSteps;
        models.push(await engine.train({ dataset, weights, fromStep, stepCount: segmentSteps }));
      }
      weights = averageWeights(m, models);
    }
    return toHex(stateDigest(m, weights));
  } finally {
    await engine.close();
  }
}

/** Records of one block. */
export function blockOf(m: NetManifest, { count, features, labels }: NetExamples, block: number): NetExamples {
  const [width, own] = [features.length / count, labels.length / count];
  const [from, to] = [block * m.batch, (block + 1) * m.batch];
  return {
    count: m.batch,
    features: features.subarray(from * width, to * width),
    labels: labels.subarray(from * own, to * own),
  };
}
