/** F6: the committed triples really are products, and F7: all constraints as one claim (libs/zk/SPEC.md §7). */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { eqTable } from '../../commit/field/multilinear.js';
import { constant, minus, ofPad, plus, powerSum, times, type Claim, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';

/** Σ coefficient·claim + Σ pads_i·π_i = target over committed data. */
export interface CombinedClaim {
  readonly claims: readonly (readonly [Claim, Ext])[];
  /** One coefficient per pad. */
  readonly pads: readonly Ext[];
  readonly target: Ext;
}

export function provePadProducts(protocol: MaskedProtocol): void {
  const { slotVars } = protocol.plan.messages;
  const slots = 2 ** slotVars;
  const tau = Array.from({ length: slotVars }, () => protocol.challenge('tau'));
  const reduced = protocol.sumcheck(tau, combination(eqTable(tau), 2 * slots));
  const weights = eqTable(reduced.point);
  const a = protocol.receiveClear();
  const b = protocol.receiveClear();
  protocol.require(minus(combination(weights, 0), constant(a)));
  protocol.require(minus(combination(weights, slots), constant(b)));
  protocol.require(minus(reduced.claim, constant(F.mul(a, b))));
}

function combination(weights: readonly Ext[], firstPad: number): LinearForm {
  return plus(...weights.map((weight, i) => times(ofPad(firstPad + i), weight)));
}

export function combine(protocol: MaskedProtocol): CombinedClaim {
  const eta = protocol.challenge('eta');
  const total = powerSum(protocol.constraints, eta);
  const pads = new Array<Ext>(2 ** protocol.plan.messages.padVars).fill(F.ZERO);
  for (const [index, coefficient] of total.pads) pads[index] = F.add(pads[index]!, coefficient);
  return { claims: total.claims, pads, target: F.neg(total.constant) };
}
