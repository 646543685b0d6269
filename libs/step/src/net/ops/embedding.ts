/** Rows of a table by token (libs/step/SPEC.md §22): `y = SAT(RS(Wc, c − a_o)[token])`, `D = Σ G` over a token's rows. */
import { roundShift } from '../../integers.js';
import { refuse } from '../../errors.js';
import { bound, computeMax, edgeMax, roundingValue, type NetLayer } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { rowsOf, type IntTensor } from '../tensor.js';
import { isTrained, rowsIn } from './dense.js';
import type { NetOp } from './op.js';

interface Embedding {
  readonly vocab: number;
  readonly out: number;
}

export const embedding: NetOp<Embedding> = {
  members: ['vocab', 'out'],
  arity: 1,
  reads: ['token'],
  drawN: 3,
  parse: (read) => ({ vocab: read.integer('vocab', 1, 1 << 24), out: read.integer('out', 1, 65_536) }),
  shape({ vocab, out }, [input], { g }, { batch }) {
    const shape = [...input!.shape, out];
    const table = { role: 'W', dims: [vocab, out], draw: { n: 3, fan: out }, decays: true } as const;
    const gradient = { gradientFraction: g, gradientMax: rowsIn(batch, shape) * edgeMax };
    return { shape, parameters: [{ ...table, ...gradient }] };
  },
  bounds: (layer) => [bound('PRODUCT', layer.id, roundingValue(computeMax(layer.parameters.W!), tableShift(layer)))],
  forward(layer, [tokens], { Wc }, run) {
    const { vocab, out } = layer.members;
    const s = tableShift(layer);
    const data = tokens!.data.flatMap((token) => {
      if (token < 0n || token >= BigInt(vocab)) refuse('TOKEN_RANGE', `tokens below ${vocab}`, String(token), rule);
      return Wc!
        .slice(Number(token) * out, (Number(token) + 1) * out)
        .map((value) => run.sat(roundShift(value, s), layer.id));
    });
    return { output: { dims: [...tokens!.dims, out], data }, saved: {} };
  },
  backward: (layer, G, { inputs: [tokens] }) => ({
    inputs: [undefined],
    gradients: isTrained(layer, 'W') ? { W: sumsByToken(layer.members, G, tokens!) } : {},
  }),
  emitForward(e, layer, [tokens], { Wc }) {
    const table = e.round(Wc!, tableShift(layer));
    return { output: e.sat(e.node('Gather', [table, tokens!]), layer.output), saved: {} };
  },
  emitBackward: (e, layer, G, { inputs: [tokens] }) => ({
    inputs: [undefined],
    gradients: isTrained(layer, 'W') ? { W: emitSumsByToken(e, layer.members, G, tokens!) } : {},
  }),
  work: () => 0,
  emitFloat: (f, layer, [tokens]) => f.node('Gather', [f.parameter(layer, 'W'), tokens!]),
  unprovable: () => ['an embedding has no step proof'],
};

/** `c − a_o`. */
function tableShift({ parameters, output }: NetLayer): number {
  return parameters.W!.compute - output.a;
}

function sumsByToken({ vocab, out }: Embedding, G: IntTensor, tokens: IntTensor): readonly bigint[] {
  const { rows } = rowsOf(G);
  const D = new Array<bigint>(vocab * out).fill(0n);
  for (let row = 0; row < rows; row++) {
    const from = Number(tokens.data[row]!) * out;
    for (let j = 0; j < out; j++) D[from + j]! += G.data[row * out + j]!;
  }
  return D;
}

/**
 * Of few tokens one product with the places of each, which takes a quarter of a scatter's time. ScatterND is no way:
 * onnxruntime adds rows of one place by several threads, without a lock.
 */
function emitSumsByToken(e: NetEmitter, { vocab, out }: Embedding, G: string, tokens: string): string {
  const g = e.rows(G, out);
  const places = e.reshape(tokens, [-1, 1]);
  if (vocab <= productVocab) {
    const all = e.cast(e.graph.axes(...Array.from({ length: vocab }, (_, token) => token)), 'int32');
    return e.rowSums.add(e.cast(e.node('Equal', [places, all]), 'float64'), g);
  }
  const zero = e.node('Expand', [e.scalar(0), e.graph.axes(vocab, out)]);
  const wide = e.node('Expand', [places, e.node('Shape', [g])]);
  return e.node('ScatterElements', [zero, wide, g], { axis: { int: 0 }, reduction: { string: 'add' } });
}

/** Largest vocabulary whose sums are taken by a product of [rows, vocab]. */
const productVocab = 256;
const rule = 'libs/step/SPEC.md §22';
