// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Claims, Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Plan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {ZkUnitMatmuls} from "./ZkUnitMatmuls.sol";

/// The flow over a unit of several segments, whose F4 and F5 another contract sums up (libs/zk/SPEC.md §20).
abstract contract UnitRelation is ZkRelation {
    using Claims for Flow;

    ZkUnitMatmuls public immutable matmuls;

    constructor(ZkUnitMatmuls matmuls_) {
        matmuls = matmuls_;
    }

    function _isUnit() internal pure override returns (bool) {
        return true;
    }

    function _steps(Flow memory f, Plan memory p) internal view override {
        unchecked {
            ZkUnitMatmuls.Sums memory sums = matmuls.reduce(_place(f), msg.data[4:]);
            f.addConstant(sums.constant_);
            f.omega = Ext.add(f.omega, sums.omega);
            for (uint256 i; i < sums.hidden.length; ++i) { Claims.addTo(f.hidden, i, sums.hidden[i]); }
            for (uint256 i; i < sums.pads.length; ++i) { Ext.put(f.pads, f.pad + i, sums.pads[i]); }
            f.pad += sums.pads.length;
            for (uint256 slot = f.back; slot < f.slot; ++slot) {
                Claims.addTo(f.slots + 128 * slot, 2, sums.slots[3 * (slot - f.back) + 1]);
            }
            uint256 terms = 2 * p.layers - 1;
            f.challenges += 64;
            _pass(f, FlowMessages.matmulVars(p), terms, sums.slots);
            f.challenges += 32;
            _pass(f, Claims.rowVars(p), terms + p.layers, sums.slots);
            f.k += 3 * terms + 5 * p.layers + 2;
        }
    }

    function _place(Flow memory f) private pure returns (ZkUnitMatmuls.Place memory at_) {
        unchecked {
            uint256 messagesAt;
            assembly ("memory-safe") {
                messagesAt := add(calldataload(68), 36)
            }
            (at_.k, at_.pad, at_.slot, at_.back) = (f.k, f.pad, f.slot, f.back);
            at_.messages = f.messages - messagesAt;
            (at_.challenges, at_.product) = (f.challenges - f.leaf, f.product - f.leaf);
        }
    }

    /// Rounds that were summed up, and products of which the weights are known.
    function _pass(Flow memory f, uint256 rounds, uint256 products, uint256[] memory slots) private pure {
        unchecked {
            f.messages += 32 * rounds;
            f.challenges += 32 * rounds;
            for (uint256 i; i < products; ++i) {
                uint256 own = 3 * (f.slot - f.back);
                f.multiply(slots[own], slots[own + 1], slots[own + 2]);
            }
        }
    }
}
