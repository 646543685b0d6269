/** Gradient of softmax cross-entropy by one table and one reciprocal per row (libs/step/SPEC.md §5, §6). */
import { refuse } from '../errors.js';
import { floorDiv, roundShift } from '../integers.js';
import { mapMatrix, matrix, type Matrix } from '../matrix.js';
import { integer } from '../members.js';
import { roundingAddend } from '../ops/rounding.js';
import { expTable } from '../table.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LossKind } from './loss.js';
import { emitOneHot } from './one-hot.js';

export interface SoftmaxCe {
  readonly kind: 'softmax-ce';
  readonly E: number;
  readonly k: number;
}

/** Emits FDIV(2^k, S)·scale as one Gather: by R4 there are fewer than 2^16 sums, each at least the 2^E of its largest. */
function emitReciprocal(
  graph: GraphBuilder,
  { E, k, classes }: { E: number; k: number; classes: number },
  scale: number,
  S: string,
): string {
  const table = new Float64Array(classes * 2 ** E + 1);
  for (let sum = 2 ** E; sum < table.length; sum++) table[sum] = Math.floor(2 ** k / sum) * scale;
  return graph.node('Gather', [graph.float64([table.length], table), graph.node('Cast', [S], { to: { int: 6 } })]);
}

export const softmaxCe: LossKind<SoftmaxCe> = {
  members: ['kind', 'E', 'k'],
  parse: ({ E, k }) => ({ kind: 'softmax-ce', E: integer(E, 'loss.E', 1, 15), k: integer(k, 'loss.k', 1, 48) }),
  check({ k }, g) {
    if (k < g) refuse('MANIFEST_LOSS', `k of at least g_L = ${g}`, k, 'libs/step/SPEC.md §5');
  },
  faces({ E, k }, m) {
    const [a, g, classes] = [m.a.at(-1)!, m.g.at(-1)!, m.dims.at(-1)!];
    const shift = k - g;
    return {
      errorMax: 2 ** g,
      isGuarded: false,
      bounds() {
        const reciprocal = (1n << BigInt(k)) + (shift > 0 ? 1n << BigInt(shift - 1) : 0n);
        return [
          { rule: 'R4', where: 'the reciprocal', value: reciprocal, limit: 1n << 53n },
          { rule: 'R4', where: 'the sum of exponentials', value: BigInt(classes) << BigInt(E), limit: 1n << 16n },
        ];
      },
      gradient(Y, labels) {
        const table = expTable(E, a);
        const C = Y.columns;
        const row = (x: Matrix, r: number) => x.data.slice(r * C, r * C + C);
        const epsilon = matrix(Y.rows, C, (r, c) => {
          const largest = row(Y, r).reduce((max, y) => (y > max ? y : max));
          return BigInt(table[Number(largest - Y.data[r * C + c]!)]!);
        });
        const S = matrix(Y.rows, 1, (r) => row(epsilon, r).reduce((sum, x) => sum + x, 0n));
        const iota = mapMatrix(S, (sum) => floorDiv(1n << BigInt(k), sum));
        const p = mapMatrix(epsilon, (x, i) => roundShift(x * iota.data[Math.floor(i / C)]!, shift));
        const one = 1n << BigInt(g);
        const G = mapMatrix(p, (x, i) => x - (labels[Math.floor(i / C)] === i % C ? one : 0n));
        return { epsilon, S, iota, p, G };
      },
      emit(graph, Y, labels) {
        const table = expTable(E, a);
        const largest = graph.node('ReduceMax', [Y], { axes: { ints: [1] }, keepdims: { int: 1 } });
        const index = graph.node('Cast', [graph.node('Sub', [largest, Y])], { to: { int: 6 } });
        const epsilon = graph.node('Gather', [graph.float64([table.length], Float64Array.from(table)), index]);
        const S = graph.node('ReduceSum', [epsilon, graph.axes(1)], { keepdims: { int: 1 } });
        const iota = emitReciprocal(graph, { E, k, classes }, 2 ** -shift, S);
        const p = graph.node('Mul', [epsilon, iota]);
        const sum = graph.node('Add', [p, emitOneHot(graph, classes, -(2 ** g), roundingAddend(shift), labels)]);
        return shift > 0 ? graph.node('Floor', [sum]) : sum;
      },
      unprovable: () => [
        ...(E === g && k === g + 16 ? [] : [`softmax needs E = g_L = ${g} and k = g_L + 16`]),
        ...(k < 32 && classes * 2 ** E < 2 ** 16 ? [] : [`N4: 2^k < 2^32 and C·2^E < 2^16 fail for C = ${classes}`]),
      ],
      figure: (ofLabel) => -Math.log(Math.max(ofLabel, 0.5) / 2 ** g),
    };
  },
};
