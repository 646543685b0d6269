/** Dropout (libs/step/SPEC.md §22): a public mask of the job's seed, the same for every engine; off in evaluation. */
import { refuse } from '../../errors.js';
import { divRound, roundShift } from '../../integers.js';
import { below, wordStream } from '../../random.js';
import { bound, edgeMax, roundingValue, type NetLayer } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { mapTensor, tensorOf } from '../tensor.js';
import { sizeOf } from '../../tensors.js';
import type { NetOp } from './op.js';
import { errorShift } from './relu.js';

interface Dropout {
  /** Probability p16/65536 of an element to be dropped. */
  readonly p16: number;
}

type Layer = NetLayer<Dropout>;

const rule = 'libs/step/SPEC.md §22';
const layersOfStep = 256;
/** Entries of the two tables of random numbers. */
const lengths = [65_521, 65_519] as const;
/** Kept in evaluation. */
const nothing: Readonly<Record<string, never>> = {};
/** Fraction of the factor of what is kept. */
const factorFraction = 12;

export const dropout: NetOp<Dropout> = {
  members: ['p16'],
  arity: 1,
  inherits: 'a',
  parse: (read) => ({ p16: read.integer('p16', 0, 65_535) }),
  shape(_, [input], _fractions, { id, index }) {
    if (index >= layersOfStep) refuse('OP_MEMBER', `${id} among the first ${layersOfStep} layers`, index, rule);
    return { shape: input!.shape };
  },
  bounds(layer) {
    const most = edgeMax * BigInt(factorOf(layer.members));
    return [
      bound('PRODUCT', layer.id, roundingValue(most, factorFraction)),
      bound('ERROR', layer.id, roundingValue(most, factorFraction + errorShift(layer))),
    ];
  },
  forward(layer, [x], _p, run) {
    if (run.step === null) return { output: x!, saved: nothing };
    const isKept = keeper(layer, run.step);
    const factor = BigInt(factorOf(layer.members));
    const mask = tensorOf(x!.dims, (i) => (isKept(i) ? factor : 0n));
    const output = mapTensor(x!, (value, i) => run.sat(roundShift(value * mask.data[i]!, factorFraction), layer.id));
    return { output, saved: { mask } };
  },
  backward(layer, G, { saved: { mask } }, _p, [wanted], run) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const s = factorFraction + errorShift(layer);
    const dx = mapTensor(G, (value, i) => run.sat(roundShift(value * mask!.data[i]!, s), layer.inputs[0]!.id));
    return { inputs: [dx], gradients: {} };
  },
  emitForward(e, layer, [x]) {
    if (!e.isTraining) return { output: x!, saved: nothing };
    const mask = emitMask(e, layer);
    return { output: e.sat(e.round(e.mul(x!, mask), factorFraction), layer.output), saved: { mask } };
  },
  emitBackward(e, layer, G, { saved }, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const dx = e.round(e.mul(G, saved.mask!), factorFraction + errorShift(layer));
    return { inputs: [e.sat(dx, layer.inputs[0]!)], gradients: {} };
  },
  perStep: { size: 4, values: placesOfStep },
  emitFloat: (_, _layer, [x]) => x!,
  unprovable: () => ['dropout has no step proof'],
};

/** DIVR(4096·65536, 65536 − p16). */
function factorOf({ p16 }: Dropout): number {
  return Number(divRound(1n << BigInt(factorFraction + 16), BigInt(65_536 - p16)));
}

/** α_1, β_1, α_2, β_2 of a step: element i reads entries (α_v·i + β_v) mod P_v. */
function placesOfStep({ seed, index }: NetLayer, step: number): readonly [number, number, number, number] {
  const word = wordStream('fxt/dropout/step/v1', seed);
  const at = 4 * (layersOfStep * step + index);
  const alpha = (v: 0 | 1): number => Number(1n + below(word(at + 2 * v), BigInt(lengths[v] - 1)));
  const beta = (v: 0 | 1): number => Number(below(word(at + 2 * v + 1), BigInt(lengths[v])));
  return [alpha(0), beta(0), alpha(1), beta(1)];
}

let made: { readonly seed: string; readonly tables: readonly [Float64Array, Float64Array] } | undefined;

/** R_1 and R_2: 16 bits of a word each. Those of the last seed are kept. */
function tablesOf(seed: string): readonly [Float64Array, Float64Array] {
  if (made?.seed !== seed) {
    const table = (v: 0 | 1): Float64Array => {
      const word = wordStream(`fxt/dropout/v${v + 1}`, seed);
      return Float64Array.from({ length: lengths[v] }, (_, i) => Number(word(i) >> 48n));
    };
    made = { seed, tables: [table(0), table(1)] };
  }
  return made.tables;
}

/** @returns whether element i of the batch, row-major, is kept */
function keeper(layer: Layer, step: number): (i: number) => boolean {
  const [first, second] = tablesOf(layer.seed);
  const [a1, b1, a2, b2] = placesOfStep(layer, step);
  return (i) => {
    const u = first[(a1 * i + b1) % lengths[0]]! + second[(a2 * i + b2) % lengths[1]]!;
    return u % 65_536 >= layer.members.p16;
  };
}

/** The factor of every element, 0 where it is dropped: [batch, …]. */
function emitMask(e: NetEmitter, layer: Layer): string {
  const count = layer.batch * sizeOf(layer.output.shape);
  const i = e.node('Range', [e.scalar(0), e.scalar(count), e.scalar(1)]);
  const places = e.stepInput(layer);
  const at = (place: number): string => e.slice(places, 0, place, place + 1);
  const drawn = tablesOf(layer.seed).map((table, v) => {
    const place = e.add(e.mul(i, at(2 * v)), at(2 * v + 1));
    return e.lookUp(table, emitModulo(e, place, lengths[v]!));
  });
  const u = emitModulo(e, e.add(drawn[0]!, drawn[1]!), 65_536);
  const isKept = e.node('GreaterOrEqual', [u, e.scalar(layer.members.p16)]);
  return e.unrows(e.where(isKept, e.scalar(factorOf(layer.members)), e.scalar(0)), layer.output.shape);
}

/** x mod n of whole numbers x ≥ 0. */
function emitModulo(e: NetEmitter, x: string, n: number): string {
  return e.sub(x, e.mul(e.floorDiv(x, e.scalar(n)), e.scalar(n)));
}
