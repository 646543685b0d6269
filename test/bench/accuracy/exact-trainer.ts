/** Trains a part by the exact engine, and measures the result as an enclave does. */
import { NetForward } from '#libs/onnx';
import { drawnParameters, frozenOf, NetMeasurement, parametersOf, startState, type Weights } from '#libs/step';
import { NetEngine } from '../../../enclave/src/engine/net-engine.js';
import type { Part, Training } from './task.js';
import { adaptedFrom } from './adapt.js';

/** @returns the metric's numerator and denominator, whole numbers of the statement that an enclave would sign */
export async function exactMetric(part: Part): Promise<{ readonly numerator: number; readonly denominator: number }> {
  const { manifest, test, base } = part;
  const drawn = drawnParameters(manifest);
  const parameters = await trained(part, base === undefined ? drawn : adaptedFrom(drawn, await trained(base)));
  const measurement = new NetMeasurement(manifest);
  const forward = await NetForward.open(manifest);
  const own = test.labels.length / test.count;
  for await (const { first, rows, output } of forward.outputs(parameters, test)) {
    measurement.add(output, test.labels.subarray(first * own, (first + rows) * own));
  }
  await forward.close();
  const { numerator, denominator } = measurement.results()[0]!;
  return { numerator: Number(numerator), denominator: Number(denominator) };
}

/** @returns all parameters after the last step */
async function trained({ manifest, examples }: Training, start: Weights = drawnParameters(manifest)): Promise<Weights> {
  const frozen = frozenOf(manifest, start);
  const engine = await NetEngine.open(manifest, frozen);
  const request = { fromStep: 0, stepCount: manifest.steps, weights: startState(manifest, start) };
  const state = await engine.train({ dataset: engine.load(examples), ...request });
  await engine.close();
  const names = new Set(start.map(({ name }) => name));
  return parametersOf(
    manifest,
    state.filter(({ name }) => names.has(name)),
    frozen,
  );
}
