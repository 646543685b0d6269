/** What a job will ask of a machine, from its manifest alone: rough, and said to be. */
import { netMultiplyAdds, netOf, parameterShapes, stateShapes, trainingSeconds, type NetManifest } from '#libs/step';

interface Estimate {
  readonly parameters: number;
  readonly trainedParameters: number;
  /** Multiply-adds of one record, forward. */
  readonly multiplyAdds: number;
  /** Bytes of a training process beside its records. */
  readonly memoryBytes: number;
  /** Seconds of all steps on one thread of a common processor, and on a slow machine: windows of a job allow for this. */
  readonly seconds: number;
  readonly slowSeconds: number;
}

/** Multiply-adds a second of one thread; measured on one with AVX-512 were 10^10 to 2·10^10. */
const usualSpeed = 1e10;
/** onnxruntime and its process with nothing in them. */
const baseBytes = 200e6;
/** Copies of an edge's values that a step holds: values, errors and what lies between. */
const copies = 6;

export function estimate(m: NetManifest): Estimate {
  const size = (dims: readonly number[]): number => dims.reduce((product, side) => product * side, 1);
  const shapes = parameterShapes(m);
  const parameters = shapes.reduce((sum, { dims }) => sum + size(dims), 0);
  const state = stateShapes(m).reduce((sum, { dims }) => sum + size(dims), 0);
  const edges = netOf(m).layers.reduce((sum, { output }) => sum + size(output.shape), 0);
  return {
    parameters,
    trainedParameters: shapes.reduce((sum, { dims, isFrozen }) => sum + (isFrozen ? 0 : size(dims)), 0),
    multiplyAdds: netMultiplyAdds(m),
    memoryBytes: Math.ceil(baseBytes + 8 * copies * m.batch * edges + 8 * 4 * (state + parameters)),
    ...{ seconds: trainingSeconds(m, 0, usualSpeed), slowSeconds: trainingSeconds(m, 0) },
  };
}
