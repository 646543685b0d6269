/** Tensors of a net between exact integers and the runtime. */
import { isLarge, tensorNumbers, type NetManifest, type Weights } from '#libs/step';
import { providerOptions } from './provider.js';
import { Tensor, type InferenceSession } from './runtime.js';

/** float64 tensors by name. */
export type NamedTensors = Readonly<Record<string, Tensor>>;

/** @param weights whole numbers below 2^53 */
export function float64Tensors(weights: Weights): NamedTensors {
  return Object.fromEntries(
    weights.map(({ name, dims, values }) => [name, new Tensor('float64', tensorNumbers(values), dims)]),
  );
}

/** Of a net's features, as its graphs take them. */
export function elementTypeOf({ input }: NetManifest): 'uint8' | 'int16' | 'int32' {
  return 'tokens' in input ? 'int32' : input.dtype;
}

/**
 * @param threads of one operator; nothing here changes a bit (libs/step/SPEC.md §10)
 * @param net     whose session it is: the arena of a large one keeps half as much again as its tensors take
 */
export function sessionOptions(
  threads: number,
  optimization: InferenceSession.SessionOptions['graphOptimizationLevel'] = 'all',
  net?: NetManifest,
): InferenceSession.SessionOptions {
  const keeps = net === undefined || !isLarge(net);
  return {
    ...providerOptions(),
    executionMode: 'sequential',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: optimization,
    ...(!keeps && { enableCpuMemArena: false, enableMemPattern: false }),
    logSeverityLevel: 3,
  };
}
