// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Claims, Flow} from "./Claims.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";

/// F1 and F2 of step-proof §7: the lookups, and every looked-up column as committed data and hidden values.
library Lookups {
    using Claims for Flow;

    uint256 private constant TABLES = 19;
    uint256 private constant TABLE_VARS = 16;
    uint256 private constant STRIDE = 32;

    /// F1 down to the leaves; the claims of the lookups.
    function reduce(Flow memory f, Plan memory p) internal pure {
        unchecked {
            uint256 alpha = f.next();
            f.beta = f.next();
            uint256 layers = p.lookupVars;
            uint256 first = f.k;
            uint256 leafK = first + layers - 1 + (p.plainLow ? 2 : 4);
            // q of the root; p is zero.
            f.masked(f.eta(layers == 1 ? leafK : first));
            uint256 pos;
            for (uint256 j; j + 1 < layers; ++j) {
                uint256 w = f.require_();
                uint256 lambda = f.next();
                uint256 mu = f.next();
                pos = f.sumcheck(pos, j, w) - 32;
                uint256 below = f.eta(j + 2 == layers ? leafK : f.k);
                uint256 nextLambda = Ext.get(f.challenges, 0);
                uint256 one = Ext.sub(Ext.ONE, mu);
                f.multiply(Ext.mul(one, below), Ext.mul(mu, below), Ext.neg(w));
                uint256 ofP = Ext.mul(below, Ext.sub(nextLambda, lambda));
                f.multiply(Ext.mul(one, ofP), Ext.mul(mu, ofP), Ext.mul(w, Ext.mul(lambda, lambda)));
            }
            _leaves(f, p, pos, alpha, leafK);
        }
    }

    function _leaves(Flow memory f, Plan memory p, uint256 pos, uint256 alpha, uint256 leafK) private pure {
        unchecked {
            uint256 lambda = f.next();
            uint256 w = f.eta(leafK);
            uint256 count = p.lookupVars - 1;
            uint256 square = Ext.mul(w, Ext.mul(lambda, lambda));
            if (p.plainLow) {
                for (uint256 i; i < p.lookups; ++i) {
                    (uint256 half, uint256 weight) = _place(p, i, pos);
                    if (half == 1) _numerator(f, p, i, pos, Ext.mul(square, weight));
                }
            }
            f.leaf = f.sumcheck(pos, count, w);
            f.hiddenAt = f.messages;
            f.hiddenPad = f.pad;
            uint256 hidden = 2 * (p.layers - 1) + 2 * p.pieces + 1;
            f.hidden = Ext.allocate(hidden);
            f.messages += 16 * hidden;
            f.pad += hidden;
            uint256 ofLow = f.require_();
            uint256 ofHigh = f.require_();
            f.multiply(Ext.neg(ofLow), Ext.neg(ofHigh), Ext.neg(w));
            uint256 numeratorLow = Ext.mul(ofLow, lambda);
            uint256 numeratorHigh = Ext.mul(ofHigh, lambda);
            if (!p.plainLow) {
                (uint256 low, uint256 high) = (f.require_(), f.require_());
                f.multiply(Ext.neg(low), Ext.neg(high), square);
                numeratorLow = Ext.add(numeratorLow, low);
                numeratorHigh = Ext.add(numeratorHigh, high);
            }
            f.require_();
            uint256 columns = _spread(f, p, alpha, [ofLow, ofHigh, numeratorLow, numeratorHigh]);
            for (uint256 l = 1; l < p.layers; ++l) {
                _hidden(f, p, columns, l);
            }
            _logits(f, p, columns);
            for (uint256 l = 1; l <= p.layers; ++l) {
                _border(f, p, columns, l);
            }
            _tables(f, p, columns);
        }
    }

    /// The numerator of one column at a point of its half.
    function _numerator(Flow memory f, Plan memory p, uint256 i, uint256 pos, uint256 weight) private pure {
        unchecked {
            uint256 kind = ZkPlan.word(p.lookupsAt, 5 * i);
            if (kind < TABLES) {
                f.addConstant(weight);
                return;
            }
            uint256 vars = kind == TABLES + 2 ? p.expVars : TABLE_VARS;
            uint256 axes = f.eqTail(p, pos, p.lookupVars - 1, vars);
            f.addClaim(f.part(p, 0, kind - 2, vars, Ext.neg(weight)), axes);
        }
    }

    /// Half of a column and its weight there.
    function _place(Plan memory p, uint256 i, uint256 pos) private pure returns (uint256 half, uint256 weight) {
        unchecked {
            uint256 vars = ZkPlan.word(p.lookupsAt, 5 * i + 3);
            uint256 offset = ZkPlan.word(p.lookupsAt, 5 * i + 4);
            uint256 count = p.lookupVars - 1;
            half = offset >> count;
            weight = Ext.eqIndex(pos, count - vars, (offset & ((1 << count) - 1)) >> vars);
        }
    }

    /// Denominators α − f and numerators of both halves; the weight of each column's f.
    function _spread(Flow memory f, Plan memory p, uint256 alpha, uint256[4] memory halves)
        private
        pure
        returns (uint256 columns)
    {
        unchecked {
            columns = Ext.allocate(22 * STRIDE);
            uint256[2] memory free_ = [Ext.ONE, Ext.ONE];
            for (uint256 i; i < p.lookups; ++i) {
                (uint256 half, uint256 weight) = _place(p, i, f.leaf);
                free_[half] = Ext.sub(free_[half], weight);
                _numerator(f, p, i, f.leaf, Ext.mul(halves[2 + half], weight));
                weight = Ext.mul(halves[half], weight);
                f.addConstant(Ext.mul(weight, alpha));
                uint256 column = ZkPlan.word(p.lookupsAt, 5 * i) * STRIDE + ZkPlan.word(p.lookupsAt, 5 * i + 1)
                    + ZkPlan.word(p.lookupsAt, 5 * i + 2);
                Ext.put(columns, column, Ext.neg(weight));
            }
            f.addConstant(Ext.add(Ext.mul(halves[0], free_[0]), Ext.mul(halves[1], free_[1])));
        }
    }

    function _column(uint256 columns, uint256 kind, uint256 i) private pure returns (uint256) {
        unchecked {
            return Ext.get(columns, kind * STRIDE + i);
        }
    }

    /// act, l, h, G, lp, hp of a hidden layer.
    function _hidden(Flow memory f, Plan memory p, uint256 columns, uint256 l) private pure {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, l);
            uint256 act = _column(columns, 0, l);
            uint256 s = Claims.scale(p, l, 0);
            uint256 actY = Ext.scale(act, Ext.inversePow2(s));
            uint256 square = Ext.mul(f.beta, f.beta);
            uint256 high = Ext.scale(act, Ext.inversePow2(16));
            uint256 parts = f.part(p, l, Claims.A, vars, Ext.mul(act, f.beta));
            parts = Ext.add(parts, f.part(p, l, Claims.M, vars, Ext.mul(act, square)));
            uint256 w = Ext.sub(Ext.scale(_column(columns, 1, l), Ext.pow2(32 - s)), actY);
            parts = Ext.add(parts, f.part(p, l, Claims.L, vars, w));
            parts = Ext.add(parts, f.part(p, l, Claims.H, vars, Ext.sub(_column(columns, 2, l), high)));
            f.addConstant(Ext.mul(act, Ext.add(Ext.HALF + (1 << 15), Ext.mul(square, f.beta))));
            Claims.addTo(f.hidden, 2 * l - 2, actY);
            uint256 ofG = _column(columns, 3, l);
            uint256 lp = _column(columns, 4, l);
            f.addConstant(Ext.add(Ext.scale(ofG, 1 << 15), Ext.scale(lp, 1 << 31)));
            Claims.addTo(f.hidden, 2 * l - 1, Ext.scale(lp, Ext.pow2(32 - Claims.scale(p, l + 1, 1))));
            parts = Ext.add(parts, f.part(p, l, Claims.G, vars, Ext.sub(ofG, Ext.scale(lp, 1 << 32))));
            w = Ext.sub(_column(columns, 5, l), Ext.scale(lp, 1 << 16));
            parts = Ext.add(parts, f.part(p, l, Claims.HP, vars, w));
            f.addClaim(parts, f.eqTail(p, f.leaf, p.lookupVars - 1, vars));
        }
    }

    /// exp, yr, lL, hL, Rp, pr of every class piece; iota, r, sr.
    function _logits(Flow memory f, Plan memory p, uint256 columns) private pure {
        unchecked {
            uint256 rows = Claims.rowVars(p);
            uint256 ofMu;
            for (uint256 k; k < p.pieces; ++k) {
                ofMu = Ext.add(ofMu, _piece(f, p, columns, k));
            }
            uint256 quotient = 2 * (p.layers - 1) + 2 * p.pieces;
            uint256 iota = _column(columns, 12, 0);
            uint256 ofR = _column(columns, 13, 0);
            uint256 ofSr = _column(columns, 14, 0);
            uint256 remainder = Ext.sub(ofR, ofSr);
            f.addConstant(Ext.sub(Ext.scale(remainder, Ext.pow2(p.reciprocalBits)), Ext.add(iota, ofSr)));
            Claims.addTo(f.hidden, quotient, Ext.neg(remainder));
            uint256 parts = Ext.add(f.part(p, 0, Claims.MU, rows, ofMu), f.part(p, 0, Claims.IOTA, rows, iota));
            uint256 vars = rows + Claims.width(p, p.layers);
            ofSr = Ext.mul(f.part(p, 0, Claims.EPS, vars, ofSr), f.realClasses(p, vars));
            f.addClaim(Ext.add(parts, ofSr), f.eqTail(p, f.leaf, p.lookupVars - 1, rows));
        }
    }

    /// @return ofMu the weight of μ
    function _piece(Flow memory f, Plan memory p, uint256 columns, uint256 k) private pure returns (uint256 ofMu) {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, p.layers);
            uint256 ofExp = _column(columns, 6, k);
            uint256 beta2 = Ext.mul(f.beta, f.beta);
            uint256 parts = f.part(p, 0, Claims.EPS, vars, Ext.mul(ofExp, f.beta));
            uint256 w = Ext.mul(ofExp, Ext.add(1 << p.expVars, Ext.mul(beta2, beta2)));
            parts = Ext.add(parts, f.part(p, 0, Claims.SMALL, vars, w));
            uint256 yr = _column(columns, 7, k);
            uint256 lL = _column(columns, 8, k);
            ofMu = Ext.sub(yr, Ext.scale(lL, 1 << 32));
            parts = Ext.add(parts, f.part(p, 0, Claims.D, vars, Ext.sub(ofExp, ofMu)));
            w = Ext.sub(_column(columns, 9, k), Ext.scale(lL, 1 << 16));
            parts = Ext.add(parts, f.part(p, 0, Claims.HL, vars, w));
            uint256 rp = _column(columns, 10, k);
            w = Ext.sub(_column(columns, 11, k), Ext.scale(rp, 1 << 16));
            parts = Ext.add(parts, f.part(p, 0, Claims.GL, vars, w));
            parts = Ext.add(parts, f.part(p, 0, Claims.Y, vars, Ext.scale(w, Ext.pow2(p.lossFraction))));
            f.addConstant(Ext.sub(Ext.scale(Ext.add(yr, rp), 1 << 15), Ext.scale(ofExp, 1 << p.expVars)));
            f.addConstant(Ext.scale(lL, 1 << 31));
            uint256 message = 2 * (p.layers - 1) + 2 * k;
            Claims.addTo(f.hidden, message, Ext.scale(lL, Ext.pow2(32 - Claims.scale(p, p.layers, 0))));
            Claims.addTo(f.hidden, message + 1, rp);
            uint256 own = ZkPlan.word(p.piecesAt, 2 * k + 1) + Claims.rowVars(p);
            f.addClaim(parts, Ext.mul(f.piece(p, k, vars), f.eqTail(p, f.leaf, p.lookupVars - 1, own)));
        }
    }

    /// lW, hW, lb, hb of a layer.
    function _border(Flow memory f, Plan memory p, uint256 columns, uint256 l) private pure {
        unchecked {
            uint256 outVars = Claims.width(p, l);
            _limbs(f, p, columns, [l, 15, Claims.WT, Claims.HW, outVars + Claims.width(p, l - 1), 2]);
            _limbs(f, p, columns, [l, 17, Claims.BT, Claims.HB, outVars, 3]);
        }
    }

    /// @param c layer, column of the low limb, blocks of the value and of its high limb, variables, index of the bits
    function _limbs(Flow memory f, Plan memory p, uint256 columns, uint256[6] memory c) private pure {
        unchecked {
            uint256 low = _column(columns, c[1], c[0]);
            uint256 high = _column(columns, c[1] + 1, c[0]);
            uint256 w = Ext.scale(low, Ext.pow2(31 - Claims.scale(p, c[0], c[5])));
            uint256 parts = f.part(p, c[0], c[2], c[4], w);
            parts = Ext.add(parts, f.part(p, c[0], c[3], c[4], Ext.sub(high, Ext.scale(low, 1 << 16))));
            f.addConstant(Ext.scale(high, 1 << 15));
            f.addClaim(parts, f.eqTail(p, f.leaf, p.lookupVars - 1, c[4]));
        }
    }

    /// The three tables' own entries, evaluated without writing them out.
    function _tables(Flow memory f, Plan memory p, uint256 columns) private pure {
        unchecked {
            uint256 end = f.leaf + 32 * (p.lookupVars - 1);
            uint256 point = end - 32 * TABLE_VARS;
            uint256 index = Ext.indexAt(point, TABLE_VARS);
            f.addConstant(Ext.mul(_column(columns, 19, 0), index));
            (uint256 a, uint256 isInside) = _activation(point, p.abits);
            uint256 square = Ext.mul(f.beta, f.beta);
            uint256 entry = Ext.add(Ext.add(index, Ext.mul(f.beta, a)), Ext.mul(square, Ext.add(isInside, f.beta)));
            f.addConstant(Ext.mul(_column(columns, 20, 0), entry));
            point = end - 32 * p.expVars;
            uint256 size = 1 << p.expVars;
            uint256 values = Ext.allocate(size);
            for (uint256 i; i < size; ++i) {
                Ext.put(values, i, ZkPlan.word(p.expAt, i));
            }
            entry = Ext.mul(f.beta, Ext.evaluate(values, point, p.expVars));
            entry = Ext.add(Ext.add(Ext.indexAt(point, p.expVars), entry), Ext.mul(square, square));
            f.addConstant(Ext.mul(_column(columns, 21, 0), entry));
        }
    }

    /// MLEs of clamp(y, 0, 2^abits − 1) and of [0 < y < 2^abits − 1] over y = index − 2^15.
    function _activation(uint256 point, uint256 abits) private pure returns (uint256 a, uint256 isInside) {
        unchecked {
            uint256 isPositive = Ext.get(point, 0);
            uint256 window = isPositive;
            uint256 low = TABLE_VARS - abits;
            for (uint256 k = 1; k < low; ++k) {
                window = Ext.mul(window, Ext.sub(Ext.ONE, Ext.get(point, k)));
            }
            a = Ext.mul(window, Ext.indexAt(point + 32 * low, abits));
            a = Ext.add(a, Ext.scale(Ext.sub(isPositive, window), (1 << abits) - 1));
            uint256 isHighest = Ext.eqIndex(point + 32 * low, abits, (1 << abits) - 1);
            uint256 isLowest = Ext.eqIndex(point + 32 * low, abits, 0);
            isInside = Ext.mul(window, Ext.sub(Ext.ONE, Ext.add(isLowest, isHighest)));
        }
    }
}
