// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Claims, Flow} from "./Claims.sol";
import {Plan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";

/// Squared error: the error is the logit minus the label, rounded where logits have more fractional bits.
abstract contract SquaredErrorRelation is ZkRelation {
    using Claims for Flow;

    /// yr, lL, lLu, hL, gL, gLs, rm of every class piece.
    function _columns(Flow memory f, Plan memory p, uint256 columns) internal pure override {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, p.layers);
            for (uint256 k; k < p.pieces; ++k) {
                (uint256 ofLogit, uint256 ofHigh) = logit(f, p, columns, k);
                uint256 gL = column(columns, 28, k);
                uint256 narrow = column(columns, 29, k);
                uint256 rm = column(columns, 30, k);
                f.addConstant(Ext.scale(Ext.add(Ext.add(gL, narrow), rm), 1 << 15));
                uint256 ofP = Ext.scale(rm, 1 << 16);
                gL = Ext.add(gL, Ext.scale(narrow, 1 << (16 - p.errorBits)));
                uint256 parts = f.part(p, Claims.blockOf(0, Claims.GL, vars), Ext.sub(gL, ofP));
                ofLogit = Ext.add(ofLogit, Ext.scale(rm, 1 << (16 - p.drop)));
                parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.LOGIT, vars), ofLogit));
                parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.HL, vars), ofHigh));
                ofP = Ext.neg(Ext.scale(ofP, Ext.pow2(p.lossFraction)));
                parts = Ext.add(parts, _label(f, p, k, vars, ofP));
                f.addClaim(parts, pieceAxes(f, p, k, vars));
            }
        }
    }

    function _products(Flow memory f, Plan memory p) internal pure override {
        if (p.layers > 1) {
            _hiddenProducts(f, p, 0);
            f.require_();
        }
        if (p.drop == 0) _errors(f, p);
        _gaps(f, p);
    }

    /// G_L = 2^(g_L − a_L)·Y_L − 2^g_L·Y where nothing is rounded.
    function _errors(Flow memory f, Plan memory p) private pure {
        unchecked {
            uint256 vars = Claims.rowVars(p) + Claims.width(p, p.layers);
            for (uint256 k; k < p.pieces; ++k) {
                uint256 w = f.require_();
                uint256 parts = f.part(p, Claims.blockOf(0, Claims.GL, vars), w);
                uint256 ofLogit = Ext.neg(Ext.scale(w, Ext.pow2(p.lossFraction - p.logitFraction)));
                parts = Ext.add(parts, f.part(p, Claims.blockOf(0, Claims.LOGIT, vars), ofLogit));
                w = Ext.scale(w, Ext.pow2(p.lossFraction));
                f.addClaim(Ext.add(parts, _label(f, p, k, vars, w)), pieceAxes(f, p, k, vars));
            }
        }
    }
}
