/**
 * Squared error of real targets τ at the output's fraction (libs/step/SPEC.md §23):
 * `G = SAT(CLAMP(RS(Y − τ, a_e − g_e), ±huber))`, without the CLAMP where there is no `huber`.
 */
import { clamp, roundShift } from '../../integers.js';
import { refuse } from '../../errors.js';
import { bound, edgeMax, roundingValue } from '../edge.js';
import { squareMetrics } from '../metrics/square-metrics.js';
import { mapTensor } from '../tensor.js';
import type { NetLoss } from './loss.js';

interface Mse {
  /** Largest error, at the fraction of errors. */
  readonly huber?: number;
}

/** Targets are int32. */
const targetMax = 1n << 31n;

export const mse: NetLoss<Mse> = {
  members: ['huber'],
  parse(read) {
    return read.has('huber') ? { huber: read.integer('huber', 1, 2 ** 31) } : {};
  },
  label(_, { edge, labelShape }) {
    if (String(labelShape) !== String(edge.shape)) {
      refuse('MANIFEST_LABEL', `labelShape [${edge.shape.join()}]`, labelShape, 'libs/step/SPEC.md §23');
    }
    return { kind: 'real', shape: labelShape };
  },
  bounds: (_, { edge }) => [bound('ERROR', edge.id, roundingValue(edgeMax + targetMax, edge.a - edge.g))],
  gradient({ huber }, { edge }, Y, labels, run) {
    return mapTensor(Y, (y, i) => {
      const error = roundShift(y - BigInt(labels[i]!), edge.a - edge.g);
      return run.sat(huber === undefined ? error : clamp(error, -BigInt(huber), BigInt(huber)), edge.id);
    });
  },
  emit(e, { huber }, { edge }, Y, labels) {
    const error = e.round(e.sub(Y, e.cast(labels, 'float64')), edge.a - edge.g);
    return e.sat(huber === undefined ? error : e.clamp(error, -huber, huber), edge);
  },
  /** Right is a target within half a unit: of standardised targets, half a standard deviation. */
  emitFigures(e, _loss, { edge }, Y, _G, labels) {
    const far = e.scale(e.sub(Y, e.cast(labels, 'float64')), -edge.a);
    const axes = [0, ...edge.shape.map((_size, axis) => axis + 1)];
    const isRight = e.cast(e.node('LessOrEqual', [e.node('Abs', [far]), e.scalar(0.5)]), 'float64');
    return { loss: e.sum(e.mul(far, far), axes, 0), right: e.sum(isRight, axes, 0) };
  },
  metrics: () => squareMetrics,
  unprovable: () => ['real targets have no step proof'],
};
