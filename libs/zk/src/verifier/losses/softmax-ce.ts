/** Softmax cross-entropy: p = ε·ι rounded, ι the reciprocal of S = Σ ε, ε an exponential of the distance to the maximum. */
import * as F from '../../commit/field/extension.js';
import type { Point } from '../../commit/field/multilinear.js';
import { constant, integer, minus, plus, power, shifted, times, zeroForm, type LinearForm } from '../linear-form.js';
import { indexAt, valuesAt } from '../tables.js';
import { pieceAt, rowAt, type PiecePoint, type RowPoint, type VerifiedLoss } from './loss.js';

const probability = ({ cell, label, shape }: PiecePoint): LinearForm =>
  plus(cell('GL'), shifted(label(), shape.lossFraction));

const remainder = ({ hidden, shape }: RowPoint): LinearForm => minus(constant(power(shape.reciprocalBits)), hidden[0]!);

export const softmaxCe: VerifiedLoss = {
  logit: ({ cell, row }) => minus(row('mu'), cell('d')),
  pieceColumns: {
    exp({ cell, shape }, beta) {
      const isSmall = cell('w');
      const index = plus(cell('d'), integer(-(2 ** shape.expVars)), shifted(isSmall, shape.expVars));
      return plus(index, times(cell('eps'), beta), times(isSmall, F.square(F.square(beta))));
    },
    Rp: (at) => plus(at.hidden[0]!, integer(2 ** 15), times(probability(at), F.fromInteger(-(2 ** 16)))),
    pr: probability,
  },
  rowColumns: {
    iota: ({ row }) => plus(row('iota'), integer(-1)),
    r: remainder,
    sr: (at) => minus(plus(at.sum('eps'), integer(-1)), remainder(at)),
  },
  tables: {
    TE: ({ expValues }, point, beta) =>
      F.sum([indexAt(point), F.mul(beta, valuesAt(expValues, point)), F.square(F.square(beta))]),
  },
  products(protocol, { pieces, rows }) {
    const { shape } = protocol.plan;
    const rowVars = shape.stepVars + shape.batchVars;
    const logits = shape.pieces.flatMap((piece, k) => {
      const vars = rowVars + piece.bits;
      const factors =
        (left: string, right: (at: PiecePoint) => LinearForm) =>
        (point: Point): [LinearForm, LinearForm] => {
          const at = pieceAt(protocol, piece, point);
          return [at.cell(left), right(at)];
        };
      return [
        { vars, claim: pieces[k]![0]!, factors: factors('eps', ({ row }) => row('iota')) },
        { vars, claim: zeroForm, factors: factors('sel', ({ cell }) => cell('d')) },
      ];
    });
    const factors = (point: Point): [LinearForm, LinearForm] => {
      const { row, sum } = rowAt(protocol, point);
      return [row('iota'), sum('eps')];
    };
    return [...logits, { vars: rowVars, claim: rows[0]!, factors }];
  },
  /** One class is selected in every row. */
  facts: (protocol, leafPoint) => [minus(rowAt(protocol, leafPoint).sum('sel'), constant(F.ONE))],
};
