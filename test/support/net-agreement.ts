/** One step of a net by the reference and by the engine, from any parameters: both say the same, or both refuse. */
import {
  drawnParameters,
  frozenOf,
  GuardViolation,
  netOf,
  netStepReference,
  parameterShapes,
  parseNetManifest,
  startState,
  type NetExamples,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { NetEngine } from '../../enclave/src/engine/net-engine.js';

/** Numbers 0 ≤ x < 1 from a seed. */
export function seeded(seed: number): () => number {
  let x = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x / 2 ** 32;
  };
}

/** A manifest of layers under exact descent, with a squared or any other loss; more members override. */
export function smallNet(layers: readonly object[], more: object = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 2, steps: 4, input: { shape: [3], dtype: 'int16', frac: 8 } },
    ...{ a: 8, g: 10, wint: 3, layers, loss: { kind: 'softmax-ce', E: 12, k: 28 } },
    ...{ optimizer: { kind: 'sgd-exact', e: 4, m: [[0, 1]] } },
    ...more,
  });
}

/** @param size of the features, as a share of their type's range; @param next numbers 0 ≤ x < 1 */
export function randomExamples(m: NetManifest, next: () => number, size: number, tokensBelow = 1): NetExamples {
  const { input, labels } = netOf(m);
  const count = (shape: readonly number[]): number => shape.reduce((product, side) => product * side, m.batch);
  const range = {
    uint8: [0, 255],
    int16: [-32_768, 32_767],
    int32: [-(2 ** 31), 2 ** 31 - 1],
    token: [0, tokensBelow - 1],
  };
  const [low, high] = range[input.element] as [number, number];
  const scale = input.element === 'token' ? 1 : size;
  const draw = (): number => Math.max(low, Math.min(high, Math.round((low + next() * (high - low + 1) - 0.5) * scale)));
  const Values = { uint8: Uint8Array, int16: Int16Array, int32: Int32Array, token: Int32Array }[input.element];
  const below = labels.below ?? 2;
  return {
    count: m.batch,
    features: new Values(count(input.shape)).map(draw),
    labels: new Int32Array(count(labels.shape)).map(() => Math.floor(next() * below)),
  };
}

/** @param size of the values, as a share of what the guard lets through */
export function randomParameters(m: NetManifest, next: () => number, size: number): Weights {
  const shapes = parameterShapes(m);
  return drawnParameters(m).map(({ name, dims, values }, i) => {
    const high = 2 ** (shapes[i]!.fraction + shapes[i]!.wint) * size;
    return { name, dims, values: values.map(() => BigInt(Math.round((2 * next() - 1) * high))) };
  });
}

interface Outcome {
  /** Values by tensor after the step; absent where a guard refused. */
  readonly state?: Readonly<Record<string, readonly bigint[]>>;
  readonly isRefused: boolean;
}

export function referenceOutcome(m: NetManifest, parameters: Weights, examples: NetExamples): Outcome {
  return outcomeOf(() => netStepReference(m, startState(m, parameters), frozenOf(m, parameters), examples, 0).state);
}

export async function engineOutcome(
  m: NetManifest,
  parameters: Weights,
  examples: NetExamples,
  hasBytes = true,
): Promise<Outcome> {
  const engine = await NetEngine.open(m, frozenOf(m, parameters), { hasBytes });
  try {
    const request = { dataset: engine.load(examples), weights: startState(m, parameters), fromStep: 0, stepCount: 1 };
    const state = await engine.train(request).catch((error: unknown) => error);
    return outcomeOf(() => {
      if (state instanceof Error) throw state;
      return state as Weights;
    });
  } finally {
    await engine.close();
  }
}

function outcomeOf(step: () => Weights): Outcome {
  try {
    const state = Object.fromEntries(step().map(({ name, values }) => [name, Array.from(values)]));
    return { state, isRefused: false };
  } catch (error) {
    if (error instanceof GuardViolation) return { isRefused: true };
    throw error;
  }
}
