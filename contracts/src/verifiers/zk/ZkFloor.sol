// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Plan} from "./ZkPlan.sol";
import {STEP_PLAN} from "./ZkErrors.sol";

/// What a plan must at least demand of its proofs, whoever agreed to it: 100 bits in every round
/// (libs/zk/SPEC.md §12). The rows are what TypeScript computes; test/zk-floor.test.ts holds the two against each
/// other.
library ZkFloor {
    /// Per profile, a byte each: m, logBlowup, randomRows, k1, logBlowup1; least queries 0 and 1, grinding before them, before
    /// row rounds and before those of level 1; most variables of the hypercube, rows of a tree, variables of the lookups.
    bytes private constant ROWS =
        hex"0d05010406241e12120e0a146b19" hex"0e05010506251e12120e0a165619" hex"0e020205055e2412120e0a154e19"
        hex"0c030304044c320a08080713ff19" hex"0f02020506651f12120f0a1b8f19";
    uint256 private constant COLUMNS = 14;
    uint256 private constant TREES = 4;

    function check(Plan memory p) internal pure {
        unchecked {
            if (p.digestBytes < 26 || p.digestBytes > 32) revert STEP_PLAN();
            uint256 treeRows;
            for (uint256 tree; tree < TREES; ++tree) {
                uint256 rows = Ext.get(p.trees, 4 * tree + 2);
                if (rows > treeRows) treeRows = rows;
            }
            bytes memory floors = ROWS;
            for (uint256 pos; pos < floors.length; pos += COLUMNS) {
                if (_isCode(p, floors, pos) && _isSafe(p, floors, pos, treeRows)) return;
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

    function _cell(bytes memory floors, uint256 pos) private pure returns (uint256) {
        return uint8(floors[pos]);
    }
}
