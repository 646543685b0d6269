/** Weights as named integer tensors: initial values, canonical bytes, state digest (libs/step/SPEC.md §9, §11). */
import { checkpointWeightsBytesMax } from '#attestation/base';
import { refuse } from './errors.js';
import { tensorBytes, tensorNumbers } from './int64.js';
import { isNet, type JobManifest } from './job-manifest.js';
import type { Manifest } from './manifest.js';
import { drawnParameters, startState, stateShapes, type StateShape } from './net/state.js';
import { linear, type ByKind, type Parameter, type ParameterKind } from './ops/index.js';
import { below, wordStream, type HashMany } from './random.js';
import { layerScales } from './scale.js';
import { decodeTensors, hashPartsReference, sizeOf, stateParts, type HashParts, type Weights } from './tensors.js';

export interface TensorShape extends Parameter {
  readonly role: TensorRole;
  /** Largest value at a border: 2^bits − 1. The least is −magnitudeMax − 1. */
  readonly magnitudeMax: bigint;
}

/** Whose parameter a tensor is, and which. */
interface TensorRole {
  readonly layer: number;
  readonly kind: ParameterKind;
}

export function tensorShapes(m: Manifest): readonly TensorShape[] {
  return layerScales(m).flatMap((scale) =>
    linear.parameters(scale).map((parameter) => ({
      ...parameter,
      role: { layer: scale.layer, kind: parameter.kind },
      magnitudeMax: (1n << BigInt(parameter.bits)) - 1n,
    })),
  );
}

/** Tensors at a border, in the order of the state digest: of a net what its optimizer keeps, too. */
export function borderShapes(m: JobManifest): readonly StateShape[] {
  if (isNet(m)) return stateShapes(m);
  return tensorShapes(m).map(({ name, dims, magnitudeMax }) => ({
    ...{ name, dims, range: { low: -magnitudeMax - 1n, high: magnitudeMax } },
  }));
}

/** Numbers at a border: weights and biases, of a net what its optimizer keeps, too. */
export function parameterCount(m: JobManifest): number {
  return borderShapes(m).reduce((sum, { dims }) => sum + sizeOf(dims), 0);
}

/** Whether a state at a border is too large for one message: its checkpoints and its result travel in pieces. */
export function isInPieces(m: JobManifest): boolean {
  return 8 * parameterCount(m) > checkpointWeightsBytesMax;
}

/** A list in tensor order by layer and kind, layer 1 first. */
export function byLayer<T>(m: Manifest, list: readonly T[]): readonly ByKind<T>[] {
  const layers: Partial<Record<ParameterKind, T>>[] = [];
  tensorShapes(m).forEach(({ role: { layer, kind } }, i) => {
    (layers[layer - 1] ??= {})[kind] = list[i]!;
  });
  return layers as ByKind<T>[];
}

/**
 * Start weights drawn from the manifest's seed; biases are 0. Of a net the state before step 0, from its seed.
 *
 * @param hashMany as `wordStream`
 */
export function initialWeights(m: JobManifest, hashMany?: HashMany): Weights {
  if (isNet(m)) return startState(m, drawnParameters(m, hashMany));
  const word = wordStream('fxt/init/v1', m.seed, hashMany);
  let i = 0;
  return tensorShapes(m).map(({ name, dims, startLimit: limit }) => {
    const values = new BigInt64Array(sizeOf(dims));
    if (limit > 0n) for (let j = 0; j < values.length; j++) values[j] = below(word(i++), 2n * limit + 1n) - limit;
    return { name, dims, values };
  });
}

/** @throws Rejection WEIGHTS_SHAPE or WEIGHTS_RANGE when the tensors are not weights of this manifest at a border */
export function checkWeights(m: JobManifest, weights: Weights): void {
  checkShapes(m, weights);
  borderShapes(m).forEach(({ name, range }, index) => {
    if (range === undefined) return;
    const { values } = weights[index]!;
    const [low, high] = [Number(range.low), Number(range.high)];
    const outside = [low, high].every(Number.isSafeInteger)
      ? firstOutside(tensorNumbers(values), low, high)
      : values.findIndex((value) => value > range.high || value < range.low);
    if (outside < 0) return;
    refuse(
      'WEIGHTS_RANGE',
      `${name} within ${range.low}..${range.high}`,
      String(values[outside]),
      'libs/step/SPEC.md §7',
    );
  });
}

/** −1 where there is none. */
function firstOutside(numbers: Float64Array, low: number, high: number): number {
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! > high || numbers[i]! < low) return i;
  return -1;
}

/** @throws Rejection WEIGHTS_SHAPE */
export function checkShapes(m: JobManifest, weights: Weights): void {
  const shapes = borderShapes(m);
  if (weights.length !== shapes.length) refuse('WEIGHTS_SHAPE', `${shapes.length} tensors`, weights.length, rule);
  shapes.forEach((shape, index) => {
    const { name, dims, values } = weights[index]!;
    if (name !== shape.name || String(dims) !== String(shape.dims) || values.length !== sizeOf(shape.dims)) {
      refuse('WEIGHTS_SHAPE', `${shape.name} [${shape.dims.join()}]`, `${name} [${dims.join()}]`, rule);
    }
  });
}

/**
 * keccak-256 of `fxt-state-v1` and, per tensor, u32be rank, u32be dims, int64 little-endian elements; 32 bytes.
 *
 * @param hashParts for whoever has a faster hash
 * @throws Rejection WEIGHTS_SHAPE
 */
export function stateDigest(m: JobManifest, weights: Weights, hashParts: HashParts = hashPartsReference): Uint8Array {
  checkShapes(m, weights);
  return hashParts(stateParts(weights));
}

/** Canonical bytes of all elements in tensor order, without names or sizes; the manifest fixes those. */
export function encodeWeights(weights: Weights): Uint8Array {
  const bytes = new Uint8Array(weights.reduce((sum, { values }) => sum + 8 * values.length, 0));
  let offset = 0;
  for (const { values } of weights) {
    bytes.set(tensorBytes(values), offset);
    offset += 8 * values.length;
  }
  return bytes;
}

/** The same bytes tensor by tensor, for whoever does not want a large state twice. */
export function* weightParts(weights: Weights): Iterable<Uint8Array> {
  for (const { values } of weights) yield tensorBytes(values);
}

/**
 * Inverse of `encodeWeights`.
 *
 * @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE
 */
export function decodeWeights(m: JobManifest, bytes: Uint8Array): Weights {
  const weights = decodeTensors(borderShapes(m), bytes);
  checkWeights(m, weights);
  return weights;
}

/**
 * The same from bytes that are never in memory as a whole.
 *
 * @param take the next bytes
 * @throws Rejection WEIGHTS_RANGE, and what `take` throws
 */
export function readWeights(m: JobManifest, take: (bytes: number) => Uint8Array): Weights {
  const weights = borderShapes(m).flatMap((shape) => decodeTensors([shape], take(8 * sizeOf(shape.dims))));
  checkWeights(m, weights);
  return weights;
}

const rule = 'libs/step/SPEC.md §11';
