// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Borders} from "./Borders.sol";
import {Claims, Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";

/// F1 and F2 of libs/zk/SPEC.md §7: the lookups, and every looked-up column as committed data and hidden values.
abstract contract Lookups is Borders {
    using Claims for Flow;

    uint256 private constant TABLE_VARS = 16;
    /// First coordinates of a point over which places of columns share a table.
    uint256 private constant PREFIX = 4;

    /// F1 down to the leaves; the claims of the lookups but for those of logits and rows.
    /// @return columns the weight of each column
    function _lookUp(Flow memory f, Plan memory p) internal pure returns (uint256 columns) {
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
            return _leaves(f, p, pos, alpha, leafK);
        }
    }

    function _leaves(Flow memory f, Plan memory p, uint256 pos, uint256 alpha, uint256 leafK)
        private
        pure
        returns (uint256 columns)
    {
        unchecked {
            uint256 lambda = f.next();
            uint256 w = f.eta(leafK);
            uint256 count = p.lookupVars - 1;
            uint256 square = Ext.mul(w, Ext.mul(lambda, lambda));
            if (p.plainLow) {
                uint256 tails = f.tails(p, pos, count);
                uint256 table = Ext.eqTable(pos, PREFIX);
                for (uint256 i; i < p.lookups; ++i) {
                    if (ZkPlan.word(p.lookupsAt, 5 * i + 4) >> count == 0) continue;
                    (, uint256 weight) = _place(p, i, pos, table);
                    _numerator(f, p, i, tails, Ext.mul(square, weight));
                }
            }
            f.leaf = f.sumcheck(pos, count, w);
            f.leafTails = f.tails(p, f.leaf, count);
            f.hiddenAt = f.messages;
            f.hiddenPad = f.pad;
            f.hidden = Ext.allocate(p.hidden);
            f.messages += 16 * p.hidden;
            f.pad += p.hidden;
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
            columns = _spread(f, p, alpha, [ofLow, ofHigh, numeratorLow, numeratorHigh]);
            for (uint256 l = 1; l < p.layers; ++l) {
                _hidden(f, p, columns, l);
            }
            for (uint256 l = 1; l <= p.layers; ++l) {
                _border(f, p, columns, l);
            }
            _tables(f, p, columns);
        }
    }

    /// The numerator of one column at a point of its half, of which `tails` are known.
    function _numerator(Flow memory f, Plan memory p, uint256 i, uint256 tails, uint256 weight) private pure {
        unchecked {
            uint256 kind = ZkPlan.word(p.lookupsAt, 5 * i);
            if (!ZkPlan.isTable(kind)) {
                f.addConstant(weight);
                return;
            }
            uint256 vars = kind == ZkPlan.TABLES + 2 ? p.expVars : TABLE_VARS;
            f.addClaim(f.part(p, Claims.blockOf(0, kind - 2, vars), Ext.neg(weight)), Ext.get(tails, vars));
        }
    }

    /// Half of a column and its weight there.
    /// @param table eq of the first coordinates of the point
    function _place(Plan memory p, uint256 i, uint256 pos, uint256 table)
        private
        pure
        returns (uint256 half, uint256 weight)
    {
        unchecked {
            uint256 vars = ZkPlan.word(p.lookupsAt, 5 * i + 3);
            uint256 offset = ZkPlan.word(p.lookupsAt, 5 * i + 4);
            uint256 count = p.lookupVars - 1;
            half = offset >> count;
            weight = Ext.eqPlace(table, PREFIX, pos, count - vars, (offset & ((1 << count) - 1)) >> vars);
        }
    }

    /// Denominators α − f and numerators of both halves; the weight of each column's f.
    function _spread(Flow memory f, Plan memory p, uint256 alpha, uint256[4] memory halves)
        private
        pure
        returns (uint256 columns)
    {
        unchecked {
            columns = Ext.allocate(ZkPlan.COLUMNS * ZkPlan.STRIDE);
            uint256[2] memory free_ = [Ext.ONE, Ext.ONE];
            uint256 table = Ext.eqTable(f.leaf, PREFIX);
            for (uint256 i; i < p.lookups; ++i) {
                (uint256 half, uint256 weight) = _place(p, i, f.leaf, table);
                free_[half] = Ext.sub(free_[half], weight);
                _numerator(f, p, i, f.leafTails, Ext.mul(halves[2 + half], weight));
                weight = Ext.mul(halves[half], weight);
                f.addConstant(Ext.mul(weight, alpha));
                Ext.put(columns, ZkPlan.column(p.lookupsAt, i), Ext.neg(weight));
            }
            f.addConstant(Ext.add(Ext.mul(halves[0], free_[0]), Ext.mul(halves[1], free_[1])));
        }
    }

    function column(uint256 columns, uint256 kind, uint256 i) internal pure returns (uint256) {
        unchecked {
            return Ext.get(columns, kind * ZkPlan.STRIDE + i);
        }
    }

    /// act, l, lu, h, G, Gs, lp, lpu, hp of a hidden layer.
    function _hidden(Flow memory f, Plan memory p, uint256 columns, uint256 l) private pure {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, l);
            uint256 act = column(columns, 0, l);
            uint256 s = Claims.scale(p, l, 0);
            uint256 actY = Ext.scale(act, Ext.inversePow2(s));
            uint256 square = Ext.mul(f.beta, f.beta);
            uint256 high = Ext.scale(act, Ext.inversePow2(16));
            uint256 parts = f.part(p, Claims.blockOf(l, Claims.A, vars), Ext.mul(act, f.beta));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(l, Claims.M, vars), Ext.mul(act, square)));
            uint256 w = Ext.sub(Ext.scale(column(columns, 1, l), Ext.pow2(32 - s)), actY);
            parts = Ext.add(parts, f.part(p, Claims.blockOf(l, Claims.L, vars), Ext.add(w, column(columns, 22, l))));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(l, Claims.H, vars), Ext.sub(column(columns, 2, l), high)));
            f.addConstant(Ext.mul(act, Ext.add(Ext.HALF + (1 << 15), Ext.mul(square, f.beta))));
            Claims.addTo(f.hidden, 2 * l - 2, actY);
            uint256 ofG = column(columns, 3, l);
            uint256 narrow = column(columns, 23, l);
            s = Claims.scale(p, l + 1, 1);
            uint256 low = Ext.add(Ext.scale(column(columns, 4, l), Ext.pow2(32 - s)), column(columns, 24, l));
            f.addConstant(Ext.add(Ext.scale(Ext.add(ofG, narrow), 1 << 15), Ext.scale(low, 1 << (s - 1))));
            Claims.addTo(f.hidden, 2 * l - 1, low);
            w = Ext.add(ofG, Ext.scale(narrow, 1 << (16 - p.errorBits)));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(l, Claims.G, vars), Ext.sub(w, Ext.scale(low, 1 << s))));
            w = Ext.sub(column(columns, 5, l), Ext.scale(low, 1 << (s - 16)));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(l, Claims.HP, vars), w));
            f.addClaim(parts, Ext.get(f.leafTails, vars));
        }
    }

    /// yr, lL, hL of a class piece: the logit, which is μ − d or YL.
    /// @return ofLogit its weight
    /// @return ofHigh that of its high limb
    function logit(Flow memory f, Plan memory p, uint256 columns, uint256 k)
        internal
        pure
        returns (uint256 ofLogit, uint256 ofHigh)
    {
        unchecked {
            uint256 s = Claims.scale(p, p.layers, 0);
            uint256 yr = column(columns, 7, k);
            uint256 low = Ext.add(Ext.scale(column(columns, 8, k), Ext.pow2(32 - s)), column(columns, 25, k));
            f.addConstant(Ext.add(Ext.scale(yr, 1 << 15), Ext.scale(low, 1 << (s - 1))));
            Claims.addTo(f.hidden, Claims.logitMessage(p, k), low);
            ofLogit = Ext.sub(yr, Ext.scale(low, 1 << s));
            ofHigh = Ext.sub(column(columns, 9, k), Ext.scale(low, 1 << (s - 16)));
        }
    }

    /// The axes of a class piece at the leaf point, among those of [c, t, b] blocks of `vars` variables.
    function pieceAxes(Flow memory f, Plan memory p, uint256 k, uint256 vars) internal pure returns (uint256) {
        unchecked {
            uint256 own = ZkPlan.word(p.piecesAt, 2 * k + 1) + Claims.rowVars(p);
            return Ext.mul(f.piece(p, k, vars), Ext.get(f.leafTails, own));
        }
    }

    /// Labels of a class piece at the leaf point, of a given weight.
    /// @return parts of its axes; 0 in a unit, whose data have axes of their own
    function _label(Flow memory f, Plan memory p, uint256 k, uint256 vars, uint256 weight)
        internal
        pure
        returns (uint256 parts)
    {
        unchecked {
            parts = f.part(p, Claims.blockOf(0, Claims.Y, vars), weight);
            if (!_isUnit()) return parts;
            uint256 bits = ZkPlan.word(p.piecesAt, 2 * k + 1);
            uint256 rows = Claims.rowVars(p);
            uint256 point = f.leaf + 32 * (p.lookupVars - 1 - rows);
            uint256 own = f.tail(p, rows);
            uint256 axes = Ext.mul(f.piece(p, k, vars), Ext.eq(point - 32 * bits, own - 32 * bits, bits));
            axes = Ext.mul(axes, _sameSuperblock(f, p, point, own));
            f.addClaim(parts, Ext.mul(axes, Ext.get(f.leafTails, rows - p.segmentVars)));
            return 0;
        }
    }

    /// lW, lWu, hW, lb, lbu, hb of a layer.
    function _border(Flow memory f, Plan memory p, uint256 columns, uint256 l) private pure {
        unchecked {
            uint256 vars = _segmentVars(p) + Claims.width(p, l);
            uint256 after_ = _isUnit() ? Claims.TO_ENDS : Claims.TO_AFTER;
            uint256 inVars = Claims.width(p, l - 1);
            _limbs(f, p, columns, [l, 15, Claims.W0 + after_, Claims.HW, vars + inVars, 2, 26]);
            _limbs(f, p, columns, [l, 17, Claims.B0 + after_, Claims.HB, vars, 3, 27]);
        }
    }

    /// @param c layer, column of the low limb, blocks of the value and of its high limb, variables, index of the bits,
    ///          column of the unscaled low limb
    function _limbs(Flow memory f, Plan memory p, uint256 columns, uint256[7] memory c) private pure {
        unchecked {
            uint256 bits = Claims.scale(p, c[0], c[5]);
            uint256 low = Ext.scale(column(columns, c[1], c[0]), Ext.pow2(31 - bits));
            low = Ext.add(low, column(columns, c[6], c[0]));
            uint256 high = column(columns, c[1] + 1, c[0]);
            uint256 parts = f.part(p, Claims.blockOf(c[0], c[2], c[4]), low);
            parts = Ext.add(
                parts, f.part(p, Claims.blockOf(c[0], c[3], c[4]), Ext.sub(high, Ext.scale(low, 1 << (bits - 15))))
            );
            f.addConstant(Ext.scale(high, 1 << 15));
            f.addClaim(parts, Ext.get(f.leafTails, c[4]));
        }
    }

    /// The entries of the range and activation tables, evaluated without writing them out.
    function _tables(Flow memory f, Plan memory p, uint256 columns) private pure {
        unchecked {
            uint256 end = f.leaf + 32 * (p.lookupVars - 1);
            uint256 point = end - 32 * TABLE_VARS;
            uint256 index = Ext.indexAt(point, TABLE_VARS);
            f.addConstant(Ext.mul(column(columns, 19, 0), index));
            (uint256 a, uint256 isInside) = _activation(point, p.abits);
            uint256 square = Ext.mul(f.beta, f.beta);
            uint256 entry = Ext.add(Ext.add(index, Ext.mul(f.beta, a)), Ext.mul(square, Ext.add(isInside, f.beta)));
            f.addConstant(Ext.mul(column(columns, 20, 0), entry));
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
