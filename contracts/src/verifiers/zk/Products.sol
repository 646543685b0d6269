// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Claims, Flow} from "./Claims.sol";
import {Lookups} from "./Lookups.sol";
import {Plan} from "./ZkPlan.sol";

/// What F3 of libs/zk/SPEC.md §7 is for every loss.
abstract contract Products is Lookups {
    using Claims for Flow;

    /// The sumcheck, and the products of masks and errors of the hidden layers.
    /// @param definitions constraints of the terms that follow
    /// @return w     weight of the next term
    /// @return gamma by which it grows
    function _hiddenProducts(Flow memory f, Plan memory p, uint256 definitions)
        internal
        pure
        returns (uint256 w, uint256 gamma)
    {
        unchecked {
            gamma = f.next();
            uint256 vars = FlowMessages.productVars(p);
            w = f.eta(f.k + p.layers - 1 + definitions);
            f.product = f.sumcheck(f.leaf + 32 * (p.lookupVars - 1 - vars), vars, w);
            f.productTails = f.tails(p, f.product, vars);
            f.back = f.slot;
            for (uint256 l = 1; l < p.layers; ++l) {
                uint256 own = Claims.rowVars(p) + Claims.width(p, l);
                uint256 ofM = f.require_();
                f.addClaim(f.part(p, Claims.blockOf(l, Claims.M, own), ofM), Ext.get(f.productTails, own));
                Claims.addTo(f.hidden, 2 * l - 1, w);
                f.multiply(Ext.neg(ofM), 0, Ext.neg(w));
                w = Ext.mul(w, gamma);
            }
        }
    }

    /// Errors of padded classes are zero.
    function _gaps(Flow memory f, Plan memory p) internal pure {
        unchecked {
            uint256 all = Claims.rowVars(p) + Claims.width(p, p.layers);
            for (uint256 g = p.pieces; g < p.pieces + p.gaps; ++g) {
                f.addClaim(f.part(p, Claims.blockOf(0, Claims.GL, all), f.require_()), pieceAxes(f, p, g, all));
            }
        }
    }
}
