/** F1: the lookups as one sum of fractions, reduced layer by layer to a claim on the leaves (libs/zk/SPEC.md §7). */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { eqIndex, suffix, type Point } from '../../commit/field/multilinear.js';
import type { LookupBlock } from '../../relation/lookups.js';
import { constant, minus, plus, times, zeroForm, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';

export interface LeafClaim {
  /** ρ of libs/zk/SPEC.md §7, one coordinate less than the lookup vector has: both halves are claimed at it. */
  readonly point: Point;
  /** What h of the leaf layer must be at the point. */
  readonly claim: LinearForm;
  readonly lambda: Ext;
  readonly alpha: Ext;
  readonly beta: Ext;
}

/** Which half of the leaves: 0 the lower, 1 the upper. */
export type Half = 0 | 1;

export function reduceLookups(protocol: MaskedProtocol): LeafClaim {
  const { vars, plainLow } = protocol.plan.lookups;
  const alpha = protocol.challenge('alpha');
  const beta = protocol.challenge('beta');
  let p = zeroForm;
  let q = protocol.receive();
  let point: Point = [];
  for (let layer = 0; layer < vars - 1; layer++) {
    const lambda = protocol.challenge('gkrLambda');
    const reduced = protocol.sumcheck(point, plus(q, times(p, lambda)));
    const a = protocol.multiply();
    const b = protocol.multiply();
    protocol.require(plus(reduced.claim, times(a.xy, F.neg(F.ONE)), times(b.xy, F.square(lambda))));
    const mu = protocol.challenge('gkrMu');
    p = between(b.x, b.y, mu);
    q = between(minus(a.x, times(b.x, lambda)), minus(a.y, times(b.y, lambda)), mu);
    point = [mu, ...reduced.point];
  }
  const lambda = protocol.challenge('gkrLambda');
  const claim = plus(q, times(p, lambda));
  const upper = plainLow ? times(numerators(protocol, 1, point), F.square(lambda)) : zeroForm;
  return { ...protocol.sumcheck(point, plus(claim, upper)), lambda, alpha, beta };
}

/** The columns that lie in one half of the leaves, with the weight of each at a point of that half. */
export function columnsOf(protocol: MaskedProtocol, half: Half, point: Point): { block: LookupBlock; weight: Ext }[] {
  const { vars, blocks } = protocol.plan.lookups;
  const halfSize = 2 ** (vars - 1);
  return blocks
    .filter((block) => Number(block.offset >= halfSize) === half)
    .map((block) => {
      const prefix = (block.offset - half * halfSize) / 2 ** block.vars;
      return { block, weight: eqIndex(point.slice(0, point.length - block.vars), prefix) };
    });
}

/** MLE of the numerators of one half: 1 for a lookup, −multiplicity for a table entry, 0 for padding. */
export function numerators(protocol: MaskedProtocol, half: Half, point: Point): LinearForm {
  return plus(
    ...columnsOf(protocol, half, point).map(({ block, weight }) => {
      if (!block.isTable) return constant(weight);
      const counts = { TR: 'mR', TA: 'mA', TE: 'mE' }[block.kind as 'TR' | 'TA' | 'TE'];
      return times(protocol.cell('S', counts, { point: suffix(point, block.vars) }), F.neg(weight));
    }),
  );
}

function between(low: LinearForm, high: LinearForm, at: Ext): LinearForm {
  return plus(times(low, F.sub(F.ONE, at)), times(high, at));
}
