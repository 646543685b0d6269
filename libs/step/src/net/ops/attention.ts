/**
 * Scaled dot-product attention with heads (libs/step/SPEC.md §22): of queries, keys and values [T, C] each, by head of
 * width `d = C/heads`, `S = SAT(RS((Q·Kᵀ)·σ, a_i + 12))`, `P` the shares of its rows at fraction 12,
 * `y = SAT(RS(P·V, 12 + a_i − a_o))`. Projections are dense layers around it.
 */
import { refuse } from '../../errors.js';
import { bound, edgeMax, roundingValue, type NetBound, type NetLayer } from '../edge.js';
import { errorEdge, placeOf, type Attention } from './attention-place.js';
import { emitAttention, emitAttentionErrors } from './attention-graph.js';
import { attend, attendBack } from './attention-reference.js';
import type { NetOp } from './op.js';

export const attention: NetOp<Attention> = {
  members: ['heads', 'causal', 'E', 'k'],
  arity: 3,
  parse: (read) => ({
    ...{ heads: read.integer('heads', 1, 4096), causal: read.boolean('causal') },
    ...{ E: read.integer('E', 1, 15, 12), k: read.integer('k', 1, 50, 28) },
  }),
  shape({ heads }, inputs, _output, { id }) {
    const [first] = inputs;
    const { shape } = first!;
    const isOne = inputs.every((edge) => String(edge.shape) === String(shape) && edge.a === first!.a);
    const errors = new Set(inputs.filter((edge) => edge.id !== 'input').map(({ g }) => g));
    if (shape.length !== 2 || !isOne || errors.size > 1) {
      const described = inputs.map((edge) => `[${edge.shape.join()}] at a ${edge.a}, g ${edge.g}`).join('; ');
      refuse('OP_SHAPE', `${id}: three inputs [T, C] of one shape, one a and one g`, described, rule);
    }
    if (shape[1]! % heads !== 0) refuse('OP_MEMBER', `heads of ${id} that divide its width ${shape[1]}`, heads, rule);
    return { shape };
  },
  bounds: attentionBounds,
  forward: (layer, inputs, _p, run) => attend(placeOf(layer), inputs, run),
  backward: (layer, G, { inputs, saved }, _p, wanted, run) => ({
    inputs: attendBack(placeOf(layer), G, inputs, saved.P!, wanted, run),
    gradients: {},
  }),
  emitForward: (e, layer, inputs) => emitAttention(e, placeOf(layer), inputs),
  emitBackward: (e, layer, G, { saved }, _p, wanted) => ({
    inputs: emitAttentionErrors(e, placeOf(layer), G, saved, wanted),
    gradients: {},
  }),
  work({ inputs: [q] }) {
    const [T, C] = q!.shape as readonly [number, number];
    return 2 * T * T * C;
  },
  widest: ({ inputs: [q], members: { heads } }) => heads * q!.shape[0]! ** 2,
  emitFloat(f, layer, inputs) {
    const { T, d, sigma, layer: at } = placeOf(layer);
    const { heads, causal } = at.members;
    const split = (x: string, perm: readonly number[]): string => f.transpose(f.reshape(x, [-1, T, heads, d]), perm);
    const [Q, V] = [split(inputs[0]!, [0, 2, 1, 3]), split(inputs[2]!, [0, 2, 1, 3])];
    const products = f.node('MatMul', [Q, split(inputs[1]!, [0, 2, 3, 1])]);
    const S = f.node('Mul', [products, f.scalar(Number(sigma) * 2 ** -12)]);
    const isHidden = (index: number): boolean => index % T > Math.floor(index / T);
    const mask = Float32Array.from({ length: causal ? T * T : 0 }, (_, index) => (isHidden(index) ? -1e30 : 0));
    const masked = causal ? f.node('Add', [S, f.graph.float32([T, T], mask)]) : S;
    const P = f.node('Softmax', [masked], { axis: { int: -1 } });
    return f.reshape(f.transpose(f.node('MatMul', [P, V]), [0, 2, 1, 3]), [-1, T, heads * d]);
  },
  unprovable: () => ['attention has no step proof'],
};

function attentionBounds(layer: NetLayer<Attention>): readonly NetBound[] {
  const { T: places, d: width, sigma, shifts } = placeOf(layer);
  const { E, k } = layer.members;
  const [T, d] = [BigInt(places), BigInt(width)];
  const square = edgeMax * edgeMax;
  const at = (value: bigint): NetBound => bound('ATTENTION', layer.id, value);
  const forward = [
    ...[at(roundingValue(d * square * sigma, shifts.S)), at(roundingValue(T << 27n, shifts.y))],
    ...[at((3n << BigInt(k)) / 2n), at(T << BigInt(E))],
    at(roundingValue(1n << BigInt(k), k - 12)),
  ];
  if (errorEdge(layer.inputs) === undefined) return forward;
  return [
    ...forward,
    ...[at(roundingValue(T << 27n, shifts.dV)), at(roundingValue(d * square, shifts.dP))],
    at(roundingValue((T << 32n) * sigma, shifts.dQK)),
  ];
}

const rule = 'libs/step/SPEC.md §22';
