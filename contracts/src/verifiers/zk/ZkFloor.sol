// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Level, Plan, ZkPlan} from "./ZkPlan.sol";
import {STEP_PLAN} from "./ZkErrors.sol";

/// What a plan must at least demand of its proofs, whoever agreed to it: 100 bits in every round
/// (libs/zk/SPEC.md §12). The rows are what TypeScript computes; test/zk-floor.test.ts holds the two against each
/// other.
library ZkFloor {
    /// Per profile, a byte each: m, logBlowup, randomRows, k1, logBlowup1; least queries 0 and 1, grinding before them, before
    /// row rounds and before those of level 1; most variables of the hypercube, rows of a tree, variables of the lookups.
    bytes private constant ROWS =
        hex"0d05010406241e12120e0a146b1a" hex"0e05010506251e12120e0a16561a" hex"0e020205055e2412120e0a154e1a"
        hex"0c030304044c320a08080713ff1a" hex"0f02020506651f12120f0a1b8f1a";
    /// Of profiles with levels behind the first: the same, then points outside the domain, and per level variables folded,
    /// blowup, least queries, grinding before them and before row rounds.
    bytes private constant DEEPER_ROWS =
        hex"100501040822171616140e18ff1a02040a12160e" hex"11050104082217161616101aff1a02050b101610"
        hex"10050104082318161618111cff1a02040a131611";
    /// Of the profiles that are verified in two parts: points and words of both levels behind the first.
    bytes private constant SPLIT_ROWS = hex"12040104072a191616161019ff1a02040a12161002030b101610"
        hex"14040104062b1c161616121dff1a02040b10161202040d0e1612"
        hex"15040105072a18161616131cff1a02040b10161302040d0e1613";
    uint256 private constant COLUMNS = 14;
    uint256 private constant TREES = 4;

    function check(Plan memory p) internal pure {
        if (p.deeper > 1 || (p.deeper == 0 && p.oodPoints != 1)) revert STEP_PLAN();
        _check(p, p.deeper == 0 ? ROWS : DEEPER_ROWS);
    }

    /// For proofs in two parts, whose openings have three levels.
    function checkSplit(Plan memory p) internal pure {
        if (p.deeper != 2) revert STEP_PLAN();
        _check(p, SPLIT_ROWS);
    }

    function _check(Plan memory p, bytes memory floors) private pure {
        unchecked {
            if (p.digestBytes < 26 || p.digestBytes > 32) revert STEP_PLAN();
            uint256 treeRows;
            for (uint256 tree; tree < TREES; ++tree) {
                uint256 rows = Ext.get(p.trees, 4 * tree + 2);
                if (rows > treeRows) treeRows = rows;
            }
            uint256 width = COLUMNS + (1 + ZkPlan.LEVEL) * p.deeper;
            for (uint256 pos; pos < floors.length; pos += width) {
                if (_isCode(p, floors, pos) && _isSafe(p, floors, pos, treeRows) && _isSafeBehind(p, floors, pos + COLUMNS)) {
                    return;
                }
            }
            revert STEP_PLAN();
        }
    }

    function _isCode(Plan memory p, bytes memory floors, uint256 pos) private pure returns (bool) {
        unchecked {
            return p.m == _cell(floors, pos) && p.logBlowup == _cell(floors, pos + 1)
                && p.randomRows == _cell(floors, pos + 2) && p.k1 == _cell(floors, pos + 3)
                && p.logBlowup1 == _cell(floors, pos + 4);
        }
    }

    function _isSafe(Plan memory p, bytes memory floors, uint256 pos, uint256 treeRows) private pure returns (bool) {
        unchecked {
            return p.queries0 >= _cell(floors, pos + 5) && p.queries1 >= _cell(floors, pos + 6)
                && p.grind0 >= _cell(floors, pos + 7) && p.grind1 >= _cell(floors, pos + 8)
                && p.grindFold >= _cell(floors, pos + 9) && p.grindFold1 >= _cell(floors, pos + 10)
                && p.vars <= _cell(floors, pos + 11) && treeRows <= _cell(floors, pos + 12)
                && p.lookupVars <= _cell(floors, pos + 13);
        }
    }

    /// The levels behind the first.
    function _isSafeBehind(Plan memory p, bytes memory floors, uint256 pos) private pure returns (bool) {
        unchecked {
            if (p.deeper == 0) return true;
            Level[] memory levels = ZkPlan.levels(p);
            for (uint256 i = 1; i < levels.length; ++i) {
                Level memory level = levels[i];
                bool isSafe = p.oodPoints == _cell(floors, pos) && level.rowVars == _cell(floors, pos + 1)
                    && level.logBlowup == _cell(floors, pos + 2) && level.queries >= _cell(floors, pos + 3)
                    && level.grind >= _cell(floors, pos + 4) && level.grindFold >= _cell(floors, pos + 5);
                if (!isSafe) return false;
                pos += 1 + ZkPlan.LEVEL;
            }
            return true;
        }
    }

    function _cell(bytes memory floors, uint256 pos) private pure returns (uint256) {
        return uint8(floors[pos]);
    }
}
