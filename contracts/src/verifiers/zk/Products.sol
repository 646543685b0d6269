// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Claims, Flow} from "./Claims.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";

/// F3 of step-proof §7: every elementwise product of the step, and the linear facts of the softmax.
library Products {
    using Claims for Flow;

    function prove(Flow memory f, Plan memory p) internal pure {
        unchecked {
            uint256 gamma = f.next();
            uint256 vars = FlowMessages.productVars(p);
            uint256 w = f.eta(f.k + p.layers + 4 * p.pieces + 1);
            uint256 point = f.sumcheck(f.leaf + 32 * (p.lookupVars - 1 - vars), vars, w);
            f.product = point;
            f.back = f.slot;
            for (uint256 l = 1; l < p.layers; ++l) {
                uint256 own = Claims.rowVars(p) + Claims.width(p, l);
                uint256 ofM = f.require_();
                f.addClaim(f.part(p, l, Claims.M, own, ofM), f.eqTail(p, point, vars, own));
                Claims.addTo(f.hidden, 2 * l - 1, w);
                f.multiply(Ext.neg(ofM), 0, Ext.neg(w));
                w = Ext.mul(w, gamma);
            }
            _logits(f, p, point, vars, gamma, w);
            f.require_();
            _facts(f, p);
        }
    }

    function _logits(Flow memory f, Plan memory p, uint256 point, uint256 vars, uint256 gamma, uint256 w) private pure {
        unchecked {
            uint256 ofIota;
            uint256 message = 2 * (p.layers - 1);
            uint256 rows = Claims.rowVars(p);
            uint256 all = rows + Claims.width(p, p.layers);
            for (uint256 k; k < p.pieces; ++k) {
                uint256 ofX = f.require_();
                uint256 ofY = f.require_();
                Claims.addTo(f.hidden, message + 2 * k + 1, w);
                f.multiply(Ext.neg(ofX), Ext.neg(ofY), Ext.neg(w));
                w = Ext.mul(w, gamma);
                ofIota = Ext.add(ofIota, ofY);
                uint256 parts = f.part(p, 0, Claims.EPS, all, ofX);
                (ofX, ofY) = (f.require_(), f.require_());
                parts = Ext.add(parts, f.part(p, 0, Claims.SEL, all, ofX));
                parts = Ext.add(parts, f.part(p, 0, Claims.D, all, ofY));
                f.multiply(Ext.neg(ofX), Ext.neg(ofY), Ext.neg(w));
                w = Ext.mul(w, gamma);
                uint256 own = ZkPlan.word(p.piecesAt, 2 * k + 1) + rows;
                f.addClaim(parts, Ext.mul(f.piece(p, k, all), f.eqTail(p, point, vars, own)));
            }
            Claims.addTo(f.hidden, message + 2 * p.pieces, w);
            (uint256 iota, uint256 sum) = (f.require_(), f.require_());
            f.multiply(Ext.neg(iota), Ext.neg(sum), Ext.neg(w));
            sum = Ext.mul(f.part(p, 0, Claims.EPS, all, sum), f.realClasses(p, all));
            iota = f.part(p, 0, Claims.IOTA, rows, Ext.add(ofIota, iota));
            f.addClaim(Ext.add(iota, sum), f.eqTail(p, point, vars, rows));
        }
    }

    /// Selectors sum to one in every row; errors of padded classes are zero.
    function _facts(Flow memory f, Plan memory p) private pure {
        unchecked {
            uint256 rows = Claims.rowVars(p);
            uint256 all = rows + Claims.width(p, p.layers);
            uint256 w = f.require_();
            uint256 count = p.lookupVars - 1;
            f.addConstant(Ext.neg(w));
            w = Ext.mul(f.part(p, 0, Claims.SEL, all, w), f.realClasses(p, all));
            f.addClaim(w, f.eqTail(p, f.leaf, count, rows));
            for (uint256 g = p.pieces; g < p.pieces + p.gaps; ++g) {
                uint256 own = ZkPlan.word(p.piecesAt, 2 * g + 1) + rows;
                w = f.part(p, 0, Claims.GL, all, f.require_());
                f.addClaim(w, Ext.mul(f.piece(p, g, all), f.eqTail(p, f.leaf, count, own)));
            }
        }
    }
}
