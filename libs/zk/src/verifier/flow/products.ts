/**
 * F3: every elementwise product of the step in one sumcheck, and the linear facts of the softmax (libs/zk/SPEC.md §7).
 */
import * as F from '../../commit/field/extension.js';
import { suffix, type Point } from '../../commit/field/multilinear.js';
import { constant, minus, powerSum, times, zeroForm, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { expSum, fixedBits, realClasses, type ColumnValues } from './columns.js';
import { classPoint, hiddenPoint, rowPoint, type TensorPoint } from './tensors.js';

/** H_l at a random point, for l = 1 … L−1: the claims that the backward matrix products must meet. */
export interface BackClaim {
  readonly point: TensorPoint;
  readonly value: LinearForm;
}

interface Term {
  readonly vars: number;
  readonly claim: LinearForm;
  /** The two factors at the final point; undefined where a factor is a hidden value. */
  factors(point: Point): [LinearForm, LinearForm | undefined];
}

export function proveProducts(protocol: MaskedProtocol, leafPoint: Point, values: ColumnValues): BackClaim[] {
  const { shape } = protocol.plan;
  const terms = productTerms(protocol, values);
  if (terms.length === 0) {
    requireLinearFacts(protocol, leafPoint);
    return [];
  }
  const gamma = protocol.challenge('gammaProducts');
  const vars = Math.max(...terms.map((term) => term.vars));
  const claim = powerSum(
    terms.map((term) => term.claim),
    gamma,
  );
  const reduced = protocol.sumcheck(suffix(leafPoint, vars), claim);
  const products = terms.map((term) => protocol.multiply(...term.factors(reduced.point)));
  protocol.require(
    minus(
      reduced.claim,
      powerSum(
        products.map((product) => product.xy),
        gamma,
      ),
    ),
  );
  requireLinearFacts(protocol, leafPoint);
  return values.maskedH.map((_, index) => ({
    point: hiddenPoint(shape, index + 1, reduced.point),
    value: products[index]!.y,
  }));
}

function productTerms(protocol: MaskedProtocol, values: ColumnValues): Term[] {
  const { shape } = protocol.plan;
  const rowVars = shape.stepVars + shape.batchVars;
  const hidden = values.maskedH.map((claim, index): Term => {
    const layer = index + 1;
    return {
      vars: rowVars + shape.widthVars[layer]!,
      claim,
      factors: (point) => {
        const { step, unit, sample } = hiddenPoint(shape, layer, point);
        return [protocol.cell('S', `M${layer}`, { point: step }, { point: unit }, { point: sample }), undefined];
      },
    };
  });
  if (values.quotient === undefined) return hidden;
  const logits = shape.pieces.flatMap((piece, index): Term[] => {
    const vars = rowVars + piece.bits;
    const cellAt = (name: string, point: Point): LinearForm => {
      const { step, unit, sample } = classPoint(shape, piece, point, fixedBits(shape, piece));
      return protocol.cell('S', name, { point: unit }, { point: step }, { point: sample });
    };
    return [
      {
        vars,
        claim: values.scaledExp[index]!,
        factors: (point) => [cellAt('eps', point), iotaAt(protocol, point)],
      },
      { vars, claim: zeroForm, factors: (point) => [cellAt('sel', point), cellAt('d', point)] },
    ];
  });
  const quotient: Term = {
    vars: rowVars,
    claim: values.quotient,
    factors: (point) => {
      const { step, sample } = rowPoint(shape, point);
      return [iotaAt(protocol, point), expSum(protocol, step, sample)];
    },
  };
  return [...hidden, ...logits, quotient];
}

function iotaAt(protocol: MaskedProtocol, point: Point): LinearForm {
  const { step, sample } = rowPoint(protocol.plan.shape, point);
  return protocol.cell('S', 'iota', { point: step }, { point: sample });
}

/** Softmax: selectors sum to one in every row; mse: errors from logits; errors of padded classes are zero. */
function requireLinearFacts(protocol: MaskedProtocol, leafPoint: Point): void {
  const { shape } = protocol.plan;
  if (shape.loss === 'mse') requireExactErrors(protocol, leafPoint);
  else {
    const { step, sample } = rowPoint(shape, leafPoint);
    const selected = protocol.cell('S', 'sel', { weights: realClasses(shape) }, { point: step }, { point: sample });
    protocol.require(minus(selected, constant(F.ONE)));
  }
  for (const gap of shape.gaps) {
    const at = classPoint(shape, gap, leafPoint, fixedBits(shape, gap));
    protocol.require(protocol.cell('S', 'GL', { point: at.unit }, { point: at.step }, { point: at.sample }));
  }
}

/** mse without rounding: G_L = 2^(g_L − a_L)·Y_L − 2^g_L·label. With rounding it is a lookup instead. */
function requireExactErrors(protocol: MaskedProtocol, leafPoint: Point): void {
  const { shape } = protocol.plan;
  if (shape.roundingShift > 0) return;
  for (const piece of shape.pieces) {
    const { step, unit, sample } = classPoint(shape, piece, leafPoint, fixedBits(shape, piece));
    const at = (tree: 'S' | 'D', name: string): LinearForm =>
      protocol.cell(tree, name, { point: unit }, { point: step }, { point: sample });
    const logit = times(at('S', 'YL'), F.fromInteger(2 ** -shape.roundingShift));
    const label = times(at('D', 'Y'), F.fromInteger(2 ** shape.lossFraction));
    protocol.require(minus(at('S', 'GL'), minus(logit, label)));
  }
}
