// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";
import {Products} from "./Products.sol";
import {Relation} from "./Relation.sol";

/// The flow of libs/zk/SPEC.md §7 as a contract of its own for each loss: it does not fit in one with the rest.
abstract contract ZkRelation is Products {
    /// @param plan       bytes of libs/zk/SPEC.md §4.5
    /// @param sizes      m_t, one byte per step; of a unit then the superblock that each segment reads, a word each
    /// @param messages   those of F0 to F6, canonical
    /// @param challenges in the order of FlowMessages
    /// @param point      where Ω is wanted
    /// @return target what ⟨Ω, w⟩ must be
    /// @return omega  Ω at the point
    function reduce(
        bytes calldata plan,
        bytes calldata sizes,
        bytes calldata messages,
        Relation.Commitment[3] memory known,
        uint256[] memory challenges,
        uint256 eta,
        uint256[] memory point
    ) external view returns (uint256 target, uint256 omega) {
        unchecked {
            Plan memory p = ZkPlan.read(plan);
            if (_isUnit()) ZkPlan.readUnit(p);
            Flow memory f;
            (uint256 messagesAt, uint256 sizesAt, uint256 challengesAt, uint256 pointAt) = (0, 0, 0, 0);
            assembly ("memory-safe") {
                messagesAt := messages.offset
                sizesAt := sizes.offset
                challengesAt := add(challenges, 32)
                pointAt := add(point, 32)
            }
            (f.messages, f.sizesAt, f.challenges, f.point) = (messagesAt, sizesAt, challengesAt, pointAt);
            f.rowTable = Ext.eqTable(pointAt, p.vars - p.m);
            f.etas = Relation.powers(p, eta, _isUnit() ? 2 * p.layers : 0);
            Relation.begin(f, p, known);
            _columns(f, p, _lookUp(f, p));
            _products(f, p);
            _steps(f, p);
            return Relation.end(f, p);
        }
    }

    /// The looked-up columns of logits and rows in F2, of the given weights.
    function _columns(Flow memory f, Plan memory p, uint256 columns) internal pure virtual;

    /// F3: elementwise products and linear facts.
    function _products(Flow memory f, Plan memory p) internal pure virtual;

    /// F4 and F5.
    function _steps(Flow memory f, Plan memory p) internal view virtual;
}
