// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Matmuls} from "./Matmuls.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";
import {Relation} from "./Relation.sol";

/// F4 and F5 of a unit, for every loss: with the rest of a flow they do not fit in one contract (libs/zk/SPEC.md §20).
contract ZkUnitMatmuls is Matmuls {
    // Words of the arguments; three of bytes come first, then three commitments.
    uint256 private constant CHALLENGES = 12;
    uint256 private constant ETA = 13;
    uint256 private constant POINT = 14;

    /// Where the flow is: numbers of the next constraint, pad and slot, and places in bytes.
    struct Place {
        uint256 k;
        uint256 pad;
        uint256 slot;
        uint256 back; // first slot of the backward claims
        uint256 messages;
        uint256 challenges; // behind the first of ρ of F1
        uint256 product; // the point of F3, as well
    }

    /// What they add to the flow.
    struct Sums {
        uint256 constant_;
        uint256 omega;
        uint256[] pads; // weights, from the next one on
        uint256[] hidden; // weights of the messages of F2
        uint256[] slots; // weights of x, y, xy, from the first of the backward claims on
    }

    /// @param given arguments of `ZkRelation.reduce`, as they are encoded
    function reduce(Place memory at_, bytes calldata given) external pure returns (Sums memory sums) {
        unchecked {
            bytes calldata plan = _bytes(given, 0);
            Plan memory p = ZkPlan.read(plan);
            ZkPlan.readUnit(p);
            Flow memory f;
            f.sizesAt = _at(_bytes(given, 1));
            f.messages = _at(_bytes(given, 2)) + at_.messages;
            f.leaf = _list(given, CHALLENGES) + 32 * FlowMessages.leafPlace(p);
            (f.challenges, f.product) = (f.leaf + at_.challenges, f.leaf + at_.product);
            (f.k, f.pad, f.slot, f.back) = (at_.k, at_.pad, at_.slot, at_.back);
            f.point = _list(given, POINT);
            f.rowTable = Ext.eqTable(f.point, p.vars - p.m);
            f.etas = Relation.powers(p, uint256(bytes32(given[32 * ETA:])), 2 * p.layers);
            f.hidden = Ext.allocate(p.hidden);
            Relation.prepare(f, p);
            _matmuls(f, p);
            (sums.constant_, sums.omega) = (f.constant_, f.omega);
            sums.pads = _words(f.pads + 32 * at_.pad, f.pad - at_.pad);
            sums.hidden = _words(f.hidden, p.hidden);
            sums.slots = new uint256[](3 * (f.slot - f.back));
            for (uint256 i; i < sums.slots.length; ++i) {
                sums.slots[i] = Ext.get(f.slots + 128 * (f.back + i / 3), 1 + i % 3);
            }
        }
    }

    function _words(uint256 from, uint256 count) private pure returns (uint256[] memory list) {
        list = new uint256[](count);
        assembly ("memory-safe") {
            mcopy(add(list, 32), from, shl(5, count))
        }
    }

    function _bytes(bytes calldata given, uint256 word) private pure returns (bytes calldata part) {
        assembly ("memory-safe") {
            let pos := add(given.offset, calldataload(add(given.offset, shl(5, word))))
            part.offset := add(pos, 32)
            part.length := calldataload(pos)
        }
    }

    function _at(bytes calldata part) private pure returns (uint256 pos) {
        assembly ("memory-safe") {
            pos := part.offset
        }
    }

    /// A copy of a list of words.
    function _list(bytes calldata given, uint256 word) private pure returns (uint256 list) {
        bytes calldata part = _bytes(given, word);
        list = Ext.allocate(part.length);
        assembly ("memory-safe") {
            calldatacopy(list, part.offset, shl(5, part.length))
        }
    }

    function _isUnit() internal pure override returns (bool) {
        return true;
    }
}
