// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Claims, Flow} from "./Claims.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";

/// Softmax cross-entropy by table (libs/step/SPEC.md §5).
abstract contract SoftmaxRelation is ZkRelation {
    using Claims for Flow;

    /// exp, yr, lL, lLu, hL, Rp, pr of every class piece; iota, r, sr; the entries of the exp table.
    function _columns(Flow memory f, Plan memory p, uint256 columns) internal pure override {
        unchecked {
            uint256 rows = Claims.rowVars(p);
            uint256 ofMu;
            for (uint256 k; k < p.pieces; ++k) {
                ofMu = Ext.add(ofMu, _piece(f, p, columns, k));
            }
            uint256 iota = column(columns, 12, 0);
            uint256 ofR = column(columns, 13, 0);
            uint256 ofSr = column(columns, 14, 0);
            uint256 remainder = Ext.sub(ofR, ofSr);
            f.addConstant(Ext.sub(Ext.scale(remainder, Ext.pow2(p.reciprocalBits)), Ext.add(iota, ofSr)));
            Claims.addTo(f.hidden, p.hidden - 1, Ext.neg(remainder));
            uint256 parts = Ext.add(
                f.part(p, Claims.blockOf(0, Claims.MU, rows), ofMu), f.part(p, Claims.blockOf(0, Claims.IOTA, rows), iota)
            );
            uint256 vars = rows + Claims.width(p, p.layers);
            ofSr = Ext.mul(f.part(p, Claims.blockOf(0, Claims.EPS, vars), ofSr), f.realClasses(p, vars));
            f.addClaim(Ext.add(parts, ofSr), Ext.get(f.leafTails, rows));
            f.addConstant(Ext.mul(column(columns, 21, 0), _expEntry(f, p)));
        }
    }

    /// @return ofMu the weight of μ
    function _piece(Flow memory f, Plan memory p, uint256 columns, uint256 k) private pure returns (uint256 ofMu) {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, p.layers);
            uint256 ofExp = column(columns, 6, k);
            uint256 beta2 = Ext.mul(f.beta, f.beta);
            uint256 parts = f.part(p, Claims.blockOf(0, Claims.EPS, vars), Ext.mul(ofExp, f.beta));
            uint256 w = Ext.mul(ofExp, Ext.add(1 << p.expVars, Ext.mul(beta2, beta2)));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.SMALL, vars), w));
            (ofMu, w) = logit(f, p, columns, k);
            parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.D, vars), Ext.sub(ofExp, ofMu)));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.HL, vars), w));
            uint256 rp = column(columns, 10, k);
            w = Ext.sub(column(columns, 11, k), Ext.scale(rp, 1 << 16));
            parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.GL, vars), w));
            parts = Ext.add(parts, _label(f, p, k, vars, Ext.scale(w, Ext.pow2(p.lossFraction))));
            f.addConstant(Ext.sub(Ext.scale(rp, 1 << 15), Ext.scale(ofExp, 1 << p.expVars)));
            Claims.addTo(f.hidden, Claims.logitMessage(p, k) + 1, rp);
            f.addClaim(parts, pieceAxes(f, p, k, vars));
        }
    }

    /// The entry of the exp table at the leaf point, evaluated without writing the table out.
    function _expEntry(Flow memory f, Plan memory p) private pure returns (uint256 entry) {
        unchecked {
            uint256 point = f.leaf + 32 * (p.lookupVars - 1 - p.expVars);
            uint256 square = Ext.mul(f.beta, f.beta);
            entry = Ext.mul(f.beta, Ext.evaluateWords(p.expAt, point, p.expVars));
            return Ext.add(Ext.add(Ext.indexAt(point, p.expVars), entry), Ext.mul(square, square));
        }
    }

    function _products(Flow memory f, Plan memory p) internal pure override {
        (uint256 w, uint256 gamma) = _hiddenProducts(f, p, 4 * p.pieces + 2);
        _logits(f, p, gamma, w);
        f.require_();
        _selectors(f, p);
        _gaps(f, p);
    }

    function _logits(Flow memory f, Plan memory p, uint256 gamma, uint256 w) private pure {
        unchecked {
            uint256 ofIota;
            uint256 rows = Claims.rowVars(p);
            uint256 all = rows + Claims.width(p, p.layers);
            for (uint256 k; k < p.pieces; ++k) {
                uint256 ofX = f.require_();
                uint256 ofY = f.require_();
                Claims.addTo(f.hidden, Claims.logitMessage(p, k) + 1, w);
                f.multiply(Ext.neg(ofX), Ext.neg(ofY), Ext.neg(w));
                w = Ext.mul(w, gamma);
                ofIota = Ext.add(ofIota, ofY);
                uint256 parts = f.part(p, Claims.blockOf(0, Claims.EPS, all), ofX);
                (ofX, ofY) = (f.require_(), f.require_());
                parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.SEL, all), ofX));
                parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.D, all), ofY));
                f.multiply(Ext.neg(ofX), Ext.neg(ofY), Ext.neg(w));
                w = Ext.mul(w, gamma);
                uint256 own = ZkPlan.word(p.piecesAt, 2 * k + 1) + rows;
                f.addClaim(parts, Ext.mul(f.piece(p, k, all), Ext.get(f.productTails, own)));
            }
            Claims.addTo(f.hidden, p.hidden - 1, w);
            (uint256 iota, uint256 sum) = (f.require_(), f.require_());
            f.multiply(Ext.neg(iota), Ext.neg(sum), Ext.neg(w));
            sum = Ext.mul(f.part(p, Claims.blockOf(0, Claims.EPS, all), sum), f.realClasses(p, all));
            iota = f.part(p, Claims.blockOf(0, Claims.IOTA, rows), Ext.add(ofIota, iota));
            f.addClaim(Ext.add(iota, sum), Ext.get(f.productTails, rows));
        }
    }

    /// Selectors sum to one in every row.
    function _selectors(Flow memory f, Plan memory p) private pure {
        unchecked {
            uint256 rows = Claims.rowVars(p);
            uint256 all = rows + Claims.width(p, p.layers);
            uint256 w = f.require_();
            f.addConstant(Ext.neg(w));
            w = Ext.mul(f.part(p, Claims.blockOf(0, Claims.SEL, all), w), f.realClasses(p, all));
            f.addClaim(w, Ext.get(f.leafTails, rows));
        }
    }
}
