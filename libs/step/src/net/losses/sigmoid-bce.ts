/**
 * Binary cross-entropy of every output by itself (libs/step/SPEC.md §23): `G = T_σ[Y] − 2^g·t` for targets t of 0 or 1, T_σ
 * the table of the logistic function from the output's fraction to that of its errors.
 */
import { refuse } from '../../errors.js';
import { bound } from '../edge.js';
import { signMetrics } from '../metrics/sign-metrics.js';
import { activationTable } from '../ops/activation-table.js';
import { mapTensor } from '../tensor.js';
import { sizeOf } from '../../tensors.js';
import { aucMetric } from '../metrics/auc.js';
import type { LossPlace, NetLoss } from './loss.js';

const origin = 1 << 15;

export const sigmoidBce: NetLoss<object> = {
  members: [],
  parse: () => ({}),
  label(_, { edge, labelShape }) {
    if (String(labelShape) !== String(edge.shape)) {
      refuse('MANIFEST_LABEL', `labelShape [${edge.shape.join()}]`, labelShape, 'libs/step/SPEC.md §23');
    }
    return { kind: 'vector', shape: labelShape, below: 2 };
  },
  bounds: (_, { edge }) => [bound('START', edge.id, BigInt(edge.g), 16n)],
  gradient(_, { edge }, Y, labels) {
    const table = tableOf(edge);
    const one = 1n << BigInt(edge.g);
    return mapTensor(Y, (y, i) => BigInt(table[Number(y) + origin]!) - one * BigInt(labels[i]!));
  },
  emit(e, _, { edge }, Y, labels) {
    const share = e.lookUp(tableOf(edge), e.add(Y, e.scalar(origin)));
    return e.sub(share, e.scale(e.cast(labels, 'float64'), edge.g));
  },
  /** The share that a target's own value got is `2^g − |G|`. */
  emitFigures(e, _loss, { edge }, Y, G, labels) {
    const axes = [0, ...edge.shape.map((_size, axis) => axis + 1)];
    const own = e.sub(e.scalar(2 ** edge.g), e.node('Abs', [G]));
    const share = e.scale(e.node('Max', [own, e.scalar(0.5)]), -edge.g);
    const isOn = e.cast(e.node('Greater', [Y, e.scalar(0)]), 'float64');
    const isRight = e.cast(e.node('Equal', [isOn, e.cast(labels, 'float64')]), 'float64');
    return {
      loss: e.node('Neg', [e.sum(e.node('Log', [share]), axes, 0)]),
      right: e.sum(isRight, axes, 0),
    };
  },
  metrics: (_, { edge }) => ({ ...signMetrics(sizeOf(edge.shape)), ...(sizeOf(edge.shape) === 1 && aucMetric(1)) }),
  unprovable: () => ['binary targets have no step proof'],
};

function tableOf({ a, g }: LossPlace['edge']): Float64Array {
  return activationTable('sigmoid', a, g).values;
}
