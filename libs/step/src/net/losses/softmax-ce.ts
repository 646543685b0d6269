/** Softmax cross-entropy over the last axis (libs/step/SPEC.md §5, §23); class −1 asks for nothing of its row. */
import { refuse } from '../../errors.js';
import { floorDiv, roundShift } from '../../integers.js';
import { expTable } from '../../table.js';
import { bound } from '../edge.js';
import { emitExp } from '../exp.js';
import { classMetrics } from '../metrics/class-metrics.js';
import type { IntTensor } from '../tensor.js';
import type { NetLoss } from './loss.js';

interface SoftmaxCe {
  readonly E: number;
  readonly k: number;
}

export const softmaxCe: NetLoss<SoftmaxCe> = {
  members: ['E', 'k'],
  parse: (read) => ({ E: read.integer('E', 1, 15), k: read.integer('k', 1, 50) }),
  label({ E, k }, { edge, labelShape, isTokens }) {
    const classes = edge.shape.at(-1)!;
    const least = E + Math.ceil(Math.log2(classes)) + 10;
    if (k < least) refuse('MANIFEST_LOSS', `k of at least E + ceil(log2 C) + 10 = ${least}`, k, rule);
    if (String(labelShape) !== String(edge.shape.slice(0, -1))) {
      refuse('MANIFEST_LABEL', `labelShape [${edge.shape.slice(0, -1).join()}]`, labelShape, rule);
    }
    const kind = isTokens && labelShape.length > 0 ? 'tokens' : 'class';
    return { kind, shape: labelShape, below: classes };
  },
  bounds: ({ E, k }, { edge }) => [
    bound('START', edge.id, BigInt(edge.g), 16n),
    bound('PRODUCT', edge.id, (1n << BigInt(k)) + (1n << BigInt(Math.max(0, k - edge.g - 1)))),
    bound('PRODUCT', edge.id, BigInt(edge.shape.at(-1)!) << BigInt(E)),
  ],
  gradient({ E, k }, { edge }, Y, labels) {
    const C = edge.shape.at(-1)!;
    const one = 1n << BigInt(edge.g);
    const data: bigint[] = [];
    for (let row = 0; row < Y.data.length / C; row++) {
      const label = labels[row]!;
      const p = softmaxRow(Y.data.slice(row * C, row * C + C), { E, k, a: edge.a, out: edge.g });
      p.forEach((x, c) => data.push(label < 0 ? 0n : x - (c === label ? one : 0n)));
    }
    return { dims: Y.dims, data } satisfies IntTensor;
  },
  emit(e, { E, k }, { edge }, Y, labels) {
    const C = edge.shape.at(-1)!;
    const rows = e.rows(Y, C);
    const p = emitSoftmax(e, rows, { E, k, a: edge.a, out: edge.g });
    const label = e.reshape(labels, [-1]);
    const isAsked = e.node('GreaterOrEqual', [label, e.node('Cast', [e.scalar(0)], { to: { int: 6 } })]);
    const isCounted = e.column(isAsked);
    const place = e.column(e.cast(e.where(isAsked, label, e.cast(e.scalar(0), 'int32')), 'int64'));
    const one = e.node('Expand', [e.scalar(-(2 ** edge.g)), e.node('Shape', [place])]);
    const G = e.node('ScatterElements', [p, place, one], { axis: { int: 1 }, reduction: { string: 'add' } });
    return e.unrows(e.where(isCounted, G, e.scalar(0)), edge.shape);
  },
  emitFigures(e, _loss, { edge }, Y, G, labels) {
    const C = edge.shape.at(-1)!;
    const label = e.reshape(labels, [-1]);
    const isCounted = e.cast(e.node('GreaterOrEqual', [label, e.cast(e.scalar(0), 'int32')]), 'float64');
    const place = e.column(e.cast(e.node('Max', [label, e.cast(e.scalar(0), 'int32')]), 'int64'));
    const found = e.node('GatherElements', [e.rows(G, C), place], { axis: { int: 1 } });
    const ofLabel = e.add(e.reshape(found, [-1]), e.scalar(2 ** edge.g));
    const share = e.scale(e.node('Max', [ofLabel, e.scalar(0.5)]), -edge.g);
    const best = e.node('ArgMax', [e.rows(Y, C)], { axis: { int: 1 }, keepdims: { int: 0 } });
    const isRight = e.cast(e.node('Equal', [best, e.cast(label, 'int64')]), 'float64');
    return {
      loss: e.sum(e.node('Neg', [e.mul(e.node('Log', [share]), isCounted)]), 0, 0),
      right: e.sum(isRight, 0, 0),
    };
  },
  metrics: ({ E }, { edge }) => classMetrics({ classes: edge.shape.at(-1)!, a: edge.a, E }),
  unprovable: () => [],
};

interface Softmax {
  readonly E: number;
  readonly k: number;
  /** Fraction of the logits. */
  readonly a: number;
  /** Fraction of the shares. */
  readonly out: number;
}

/** Shares of one row: `RS(ε·ι, k − out)`. */
export function softmaxRow(Y: readonly bigint[], { E, k, a, out }: Softmax): bigint[] {
  const table = expTable(E, a);
  const largest = Y.reduce((max, y) => (y > max ? y : max));
  const epsilon = Y.map((y) => BigInt(table[Number(largest - y)]!));
  const iota = floorDiv(
    1n << BigInt(k),
    epsilon.reduce((sum, x) => sum + x, 0n),
  );
  return epsilon.map((x) => roundShift(x * iota, k - out));
}

interface Logits {
  /** Whether some lie more than 65535 below the largest; their shares are 0. */
  readonly isMasked: boolean;
  /** Whether the tensor has numbers, none of them whole, of which they are the floor. */
  readonly isFloored: boolean;
}

/** The same over the last axis of a tensor whose logits are whole numbers. */
export function emitSoftmax(
  e: Parameters<NetLoss<SoftmaxCe>['emit']>[0],
  Y: string,
  { E, k, a, out }: Softmax,
  { isMasked, isFloored }: Logits = { isMasked: false, isFloored: false },
): string {
  const most = e.node('ReduceMax', [Y], { axes: { ints: [-1] }, keepdims: { int: 0 } });
  // For y that is not whole, max − floor(y) is the floor of max + 1 − y, which the cast to a place takes.
  const largest = isFloored ? e.add(e.node('Floor', [most]), e.scalar(1)) : most;
  const epsilon = emitExp(e, e.sub(e.column(largest), Y), E, a, isMasked);
  const iota = e.floorDiv(e.scalar(2 ** k), e.sum(epsilon, -1, 0));
  const s = k - out;
  if (!e.options.hasRoom || s <= 0 || k + E > 51) return e.roundedByRow(epsilon, iota, s);
  // ε is from 0 to 2^E and ι at most 2^(k−E): by so much more of ι a half is passed and nothing else, and 0 stays 0.
  return e.whole(e.mul(epsilon, e.column(e.add(e.scale(iota, -s), e.scalar(2 ** -(s + 1 + E))))));
}

const rule = 'libs/step/SPEC.md §23';
