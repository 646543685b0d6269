/**
 * F3: every elementwise product of the step in one sumcheck, and the linear facts of the loss (libs/zk/SPEC.md §7).
 */
import { suffix, type Point } from '../../commit/field/multilinear.js';
import { minus, powerSum, type LinearForm } from '../linear-form.js';
import type { MaskedProtocol } from '../masked-protocol.js';
import { verifiedHeads } from '../heads.js';
import type { ProductTerm } from '../losses/index.js';
import { pieceAt } from '../losses/loss.js';
import type { ColumnValues } from './columns.js';
import { hiddenPoint, type TensorPoint } from './tensors.js';

/** H_l at a random point, for l = 1 … L−1: the claims that the backward matrix products must meet. */
export interface BackClaim {
  readonly point: TensorPoint;
  readonly value: LinearForm;
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

function productTerms(protocol: MaskedProtocol, values: ColumnValues): ProductTerm[] {
  const { shape } = protocol.plan;
  const rowVars = shape.stepVars + shape.batchVars;
  const hidden = values.maskedH.map((claim, index): ProductTerm => {
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
  return [...hidden, ...verifiedHeads[shape.loss].products(protocol, values.loss)];
}

/** Those of the loss; errors of padded classes are zero. */
function requireLinearFacts(protocol: MaskedProtocol, leafPoint: Point): void {
  const { shape } = protocol.plan;
  verifiedHeads[shape.loss].facts(protocol, leafPoint).forEach((form) => protocol.require(form));
  if (shape.isForward) return;
  for (const gap of shape.gaps) protocol.require(pieceAt(protocol, gap, leafPoint).cell('GL'));
}
