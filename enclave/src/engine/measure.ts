/** What weights come to on records: exact fractions, metric by metric (libs/step/SPEC.md §29). */
import type { EvaluationStatement } from '#attestation/records';
import type { NetForward } from '#libs/onnx';
import { NetMeasurement, type NetExamples, type Weights } from '#libs/step';

type Metrics = EvaluationStatement['metrics'];

/** @param parameters all of them, frozen ones too @returns in the order of the manifest's `evaluate` */
export async function measure(forward: NetForward, parameters: Weights, examples: NetExamples): Promise<Metrics> {
  const measurement = new NetMeasurement(forward.manifest);
  const labels = examples.labels.length / examples.count;
  for await (const { first, rows, output } of forward.outputs(parameters, examples)) {
    measurement.add(output, examples.labels.subarray(first * labels, (first + rows) * labels));
  }
  return measurement.results().map(({ metric, numerator, denominator }) => ({
    ...{ metric: metric as Metrics[number]['metric'], numerator, denominator },
  }));
}
