/**
 * Accuracy: v bounds the logits of a record, q is how far each is below it, and sel, 0 or the label, names the class that
 * meets it; lower classes stay one further below (libs/zk/SPEC.md §21).
 */
import type { Point } from '../commit/field/multilinear.js';
import { integer, minus, plus, zeroForm, type LinearForm } from './linear-form.js';
import { pieceAt, type PiecePoint, type VerifiedLoss } from './losses/loss.js';

export const verifiedAccuracy: VerifiedLoss = {
  logit: ({ cell }) => cell('YL'),
  pieceColumns: { q: ({ cell }) => cell('q') },
  rowColumns: { vr: ({ row }) => plus(row('v'), integer(2 ** 15)) },
  tables: {},
  products(protocol) {
    const { pieces, stepVars, batchVars } = protocol.plan.shape;
    return pieces.flatMap((piece) => {
      const withSelector =
        (other: (at: PiecePoint) => LinearForm) =>
        (point: Point): [LinearForm, LinearForm] => {
          const at = pieceAt(protocol, piece, point);
          return [at.cell('sel'), other(at)];
        };
      const term = { vars: piece.bits + stepVars + batchVars, claim: zeroForm };
      return [
        { ...term, factors: withSelector(({ cell, label }) => minus(cell('sel'), label())) },
        { ...term, factors: withSelector(({ cell }) => cell('q')) },
      ];
    });
  },
  /** q = v − Y_L − Σ_{c' > c} sel_{c'}. */
  facts: (protocol, leafPoint) =>
    protocol.plan.shape.pieces.map((piece) => {
      const { cell, row, above } = pieceAt(protocol, piece, leafPoint);
      return minus(plus(cell('q'), cell('YL'), above('sel')), row('v'));
    }),
};
