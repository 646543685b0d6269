/** The losses that have a circuit, by name: one row each. */
import type { LayerScale, Loss, Manifest } from '#libs/step';
import type { CircuitLoss, LossCircuit } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export type { LossCircuit } from './loss.js';

/** Their order is that of the templates in every circuit's text. */
const losses: { readonly [K in Loss['kind']]: CircuitLoss<Extract<Loss, { kind: K }>> } = {
  mse,
  'softmax-ce': softmaxCe,
};

export const lossTemplates = Object.values(losses)
  .map(({ templates }) => templates)
  .join('');

export function lossCircuit(manifest: Manifest, last: LayerScale): LossCircuit {
  return (losses[manifest.loss.kind] as CircuitLoss<Loss>).circuit(manifest.loss, manifest, last);
}
