// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {ZkFloor} from "./ZkFloor.sol";
import {Plan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {ZkStep} from "./ZkStep.sol";

/// The first part of a proof that is verified in two: everything but leaves and paths of the levels, in whose place stand the
/// rows that they must give, and the paths of a witness with a tree of its own. No step verifier: what it accepts is half a proof (contracts/SPEC.md §11).
contract ZkProofHead is ZkStep {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/zk/fxt-zk/1/split"));

    constructor(ZkRelation[4] memory relations) ZkStep(relations) {}

    /// @return rest digest of what the second part must show: of the witness root, sizes, places and hashes of its leaves,
    ///         of each level root, sizes, ρ_row, places and rows
    function head(bytes calldata seal, bytes32 statementDigest) external view returns (bytes32 rest) {
        (Plan memory p, Opening memory o) = _check(seal, SELECTOR, statementDigest);
        unchecked {
            // Nothing is allocated behind it before it is hashed.
            uint256 all = Ext.allocate(0);
            uint256 to = p.joint ? all : _witness(p, o, all);
            for (uint256 i; i < o.levels.length; ++i) {
                Opened memory own = o.levels[i];
                uint256 size = own.queries.size;
                Ext.put(to, 0, uint256(own.root));
                uint256 sizes = size | own.level.rows << 32 | own.level.rowVars << 64;
                sizes |= (own.level.columnVars + own.level.logBlowup) << 96 | p.digestBytes << 128;
                Ext.put(to, 1, sizes);
                to = _append(to + 64, own.start, own.level.rowVars);
                to = _append(to, own.queries.indices, size);
                to = _append(to, own.queries.rows, size);
            }
            assembly ("memory-safe") {
                rest := keccak256(all, sub(to, all))
            }
        }
    }

    /// As a level without rows.
    function _witness(Plan memory p, Opening memory o, uint256 to) private pure returns (uint256) {
        unchecked {
            uint256 size = o.queries.size;
            Ext.put(to, 0, o.witnessRoot);
            Ext.put(to, 1, size | (p.m + p.logBlowup) << 96 | p.digestBytes << 128);
            to = _append(to + 64, o.queries.indices, size);
            return _append(to, o.witness, size);
        }
    }

    function _append(uint256 to, uint256 from, uint256 count) private pure returns (uint256 next) {
        assembly ("memory-safe") {
            mcopy(to, from, shl(5, count))
            next := add(to, shl(5, count))
        }
    }

    function _requireFloor(Plan memory p) internal pure virtual override {
        ZkFloor.checkSplit(p);
    }

    function _openWitness(Reader memory, Plan memory, Opening memory) internal pure override {}

    function _openLevel(Reader memory r, Plan memory, Opened memory own, uint256) internal pure override {
        uint256 count = own.queries.size;
        own.queries.rows = Ext.allocate(count);
        Transcript.elements(Transcript.take(r, 16 * count), count, own.queries.rows);
    }
}
