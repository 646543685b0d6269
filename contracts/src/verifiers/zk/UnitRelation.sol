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
            (uint256 target, uint256 omega) = matmuls.reduce(_place(f), msg.data[4:]);
            f.constant_ = Ext.sub(f.constant_, target);
            f.omega = Ext.add(f.omega, omega);
            uint256 terms = 2 * p.layers - 1;
            f.challenges += 64;
            _skip(f, FlowMessages.matmulVars(p), terms);
            f.challenges += 32;
            _skip(f, Claims.rowVars(p), terms + p.layers);
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
            (at_.messages, at_.hiddenAt) = (f.messages - messagesAt, f.hiddenAt - messagesAt);
            (at_.challenges, at_.product) = (f.challenges - f.leaf, f.product - f.leaf);
            at_.backAt = Ext.get(f.slots + 128 * f.back, 0) - messagesAt;
            at_.hiddenPad = f.hiddenPad;
        }
    }

    /// Rounds and products that were summed up.
    function _skip(Flow memory f, uint256 rounds, uint256 products) private pure {
        unchecked {
            f.messages += 32 * rounds;
            f.challenges += 32 * rounds;
            f.pad += 2 * rounds;
            for (uint256 i; i < products; ++i) { f.multiply(0, 0, 0); }
        }
    }
}
