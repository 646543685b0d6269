/** The losses by name: a new one is a file beside this and a row here. */
import { refuse } from '../errors.js';
import { onlyMembers, record } from '../members.js';
import type { LossFaces, LossKind, LossSettings } from './loss.js';
import { mse, type Mse } from './mse.js';
import { softmaxCe, type SoftmaxCe } from './softmax-ce.js';

export type Loss = SoftmaxCe | Mse;

const losses: { readonly [K in Loss['kind']]: LossKind<Extract<Loss, { kind: K }>> } = { 'softmax-ce': softmaxCe, mse };

/** @throws Rejection MANIFEST_LOSS */
function kindOf(kind: unknown): LossKind<Loss> {
  if (typeof kind === 'string' && Object.hasOwn(losses, kind)) return losses[kind as Loss['kind']] as LossKind<Loss>;
  return refuse('MANIFEST_LOSS', Object.keys(losses).join(' or '), kind, 'libs/step/SPEC.md §5');
}

/** @throws Rejection MANIFEST_LOSS, and those of its members */
export function parseLoss(value: unknown): Loss {
  const o = record(value, 'loss');
  const kind = kindOf(o.kind);
  onlyMembers(o, new Set(kind.members), 'loss');
  return kind.parse(o);
}

/** @throws Rejection MANIFEST_LOSS when the loss does not go with the fraction g_L of its error */
export function checkLoss(loss: Loss, g: number): void {
  kindOf(loss.kind).check(loss, g);
}

/** What a manifest says of a loss, where a profile has values for its members. */
export function profileLoss(kind: Loss['kind'] = 'softmax-ce', values: Readonly<Record<string, number>>): unknown {
  const named: Readonly<Record<string, unknown>> = { ...values, kind };
  return Object.fromEntries(losses[kind].members.map((member) => [member, named[member]]));
}

export function lossOf(m: LossSettings & { readonly loss: Loss }): LossFaces {
  return kindOf(m.loss.kind).faces(m.loss, m);
}
