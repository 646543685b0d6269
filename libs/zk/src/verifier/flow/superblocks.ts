/** Which batches of the committed data the steps of a proof read (libs/zk/SPEC.md §20). */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { eqTable } from '../../commit/field/multilinear.js';
import type { Axis } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';

/** Weights of the batches of the committed data that the steps read; where a proof covers one segment they are its steps. */
export function batchAxis({ plan, superblocks }: Pick<MaskedProtocol, 'plan' | 'superblocks'>, step: Axis): Axis {
  const { segmentVars, stepVars } = plan.shape;
  if (segmentVars === 0) return step;
  const ofSteps = 'point' in step ? eqTable(step.point) : step.weights;
  const length = 2 ** (stepVars - segmentVars);
  const weights = new Array<Ext>(ofSteps.length).fill(F.ZERO);
  ofSteps.forEach((weight, s) => {
    const batch = superblocks[Math.floor(s / length)]! * length + (s % length);
    weights[batch] = F.add(weights[batch]!, weight);
  });
  return { weights };
}
