/** How many messages, product slots, pads and constraints one proof has (libs/zk/SPEC.md §6, §7). */
import { log2Ceil } from '../commit/layout/log2.js';
import type { Shape } from '../commit/layout/shape.js';
import type { Profile } from '../commit/params.js';
import type { LookupLayout } from './lookups.js';
import { relatedHeads } from './heads.js';

export interface MessageCounts {
  readonly products: number;
  readonly maskedMessages: number;
  /** Rounds of the masked sumchecks. */
  readonly rounds: number;
  /** lg K: product slots. */
  readonly slotVars: number;
  /** lg of the number of pads. */
  readonly padVars: number;
  /** Constraints combined by η. */
  readonly constraints: number;
}

export function countMessages(shape: Shape, lookups: LookupLayout, { oodPoints }: Profile): MessageCounts {
  const { layers, stepVars, batchVars, widthVars, isForward } = shape;
  const L = layers.length;
  const isSingleStep = stepVars === 0;
  const updates = isForward ? 0 : isSingleStep ? L : 3 * L - 1;
  const matmuls = isForward ? L : 2 * L - 1;
  const leafProducts = lookups.plainLow ? 1 : 2;
  const elementwise = elementwiseCounts(shape);
  const products = 2 * (lookups.vars - 1) + leafProducts + elementwise.terms + matmuls + updates;
  const slotVars = log2Ceil(products + 2);
  const matmulRounds =
    stepVars +
    Math.max(
      ...layers.map(({ layer }) => Math.max(widthVars[layer - 1]!, layer > 1 && !isForward ? widthVars[layer]! : 0)),
    );
  const updateRounds = isForward ? 0 : stepVars + batchVars;
  const rounds = (lookups.vars * (lookups.vars - 1)) / 2 + elementwise.rounds + matmulRounds + updateRounds + slotVars;
  const maskedMessages = 1 + 2 * rounds + elementwise.columns;
  const padVars = log2Ceil(3 * 2 ** slotVars + maskedMessages + 4);
  const constraints =
    (isForward ? 3 : 4) * oodPoints +
    (lookups.vars - 1) +
    (2 * leafProducts + 1) +
    elementwise.constraints +
    (isSingleStep ? 2 * matmuls : matmuls) +
    1 +
    endConstraints(shape, updates) +
    3;
  return { products, maskedMessages, rounds, slotVars, padVars, constraints };
}

/** Of what becomes of the weights, and of padded classes; of a forward pass, of the count. */
function endConstraints({ layers, gaps, segmentVars, isForward }: Shape, updates: number): number {
  const L = layers.length;
  return isForward ? 1 : gaps.length + L + 2 * updates + 1 + (segmentVars > 0 ? 2 * L : 0);
}

interface ElementwiseCounts {
  /** Products of F3 and the rounds of their sumcheck. */
  readonly terms: number;
  readonly rounds: number;
  /** Hidden values of F2. */
  readonly columns: number;
  /** Of F3, gaps aside. */
  readonly constraints: number;
}

function elementwiseCounts(shape: Shape): ElementwiseCounts {
  const { layers, pieces, stepVars, batchVars, widthVars, isForward } = shape;
  const loss = relatedHeads[shape.loss];
  const below = layers.slice(0, -1);
  const hidden = isForward ? [] : below.map(({ layer }) => widthVars[layer]!);
  const ofLoss = loss.products(shape);
  const terms = hidden.length + ofLoss.length;
  const sent = pieces.length * (1 + loss.hidden.pieces.length) + loss.hidden.rows.length;
  return {
    terms,
    rounds: terms === 0 ? 0 : stepVars + batchVars + Math.max(...hidden, ...ofLoss),
    columns: below.length + hidden.length + sent,
    constraints: hidden.length + 2 * ofLoss.length + (terms === 0 ? 0 : 1) + loss.facts(shape),
  };
}
