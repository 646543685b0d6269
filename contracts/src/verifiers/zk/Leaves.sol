// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Plan, ZkPlan, TREE_D, TREE_S, TREE_W0, TREE_WT} from "./ZkPlan.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {
    STEP_MERKLE_D,
    STEP_MERKLE_J,
    STEP_MERKLE_L1,
    STEP_MERKLE_S,
    STEP_MERKLE_W0,
    STEP_MERKLE_WT,
    STEP_NONCANONICAL,
    STEP_PROOF_LENGTH
} from "./ZkErrors.sol";

/// Opened leaves, their Merkle paths and what their symbols add up to (libs/zk/SPEC.md §2.1, §4.4, §9.2, §10).
library Leaves {
    using Transcript for Reader;

    uint256 private constant SPECIAL = 6;
    uint256 private constant LEVEL1_HEADER = 0x4c01;
    uint256 private constant LOW = 0xffffffffffffffffffffffffffffffff;

    struct Roots {
        bytes32 w0;
        bytes32 wt;
        bytes32 s;
        bytes32 d;
    }

    struct Queries {
        uint256 indices;
        uint256 size;
        uint256 rows; // f* ‖ R* at each point
        uint256 strips; // σ* at each point
    }

    /// @param rowTable eq(ρ, ·) over the global rows
    /// @param delta    the weight of the folded rows beside the mask
    function open(Reader memory r, Plan memory p, Roots memory roots, Queries memory q, uint256 rowTable, uint256 delta)
        internal
        pure
    {
        unchecked {
            uint256[4] memory hashes;
            uint256[4] memory weights;
            for (uint256 t; t < 4; ++t) {
                hashes[t] = Ext.allocate(q.size);
                weights[t] = _weights(p, t, rowTable);
            }
            uint256 scratch = Ext.allocate(8 + (1 << (p.vars - p.m)) / 4);
            q.rows = Ext.allocate(q.size);
            q.strips = Ext.allocate(q.size);
            for (uint256 k; k < q.size; ++k) {
                (uint256 sum, uint256 hash, uint256 tail) = _leaf(r, p, TREE_S, weights[TREE_S], scratch, 0);
                Ext.put(hashes[TREE_S], k, hash);
                for (uint256 t = 3; t > 0; --t) {
                    // WT, W0, D
                    uint256 tree = t == 3 ? TREE_WT : t == 2 ? TREE_W0 : TREE_D;
                    uint256 part;
                    (part, hash,) = _leaf(r, p, tree, weights[tree], scratch, t == 3 && p.joint ? hash : 0);
                    Ext.put(hashes[tree], k, hash);
                    sum = Ext.add(sum, part);
                }
                (uint256 h, uint256 pi, uint256 e) = (_pair(tail), _pair(tail + 16), _pair(tail + 32));
                Ext.put(q.rows, k, Ext.add(h, Ext.mul(delta, sum)));
                Ext.put(q.strips, k, Ext.add(e, Ext.mul(delta, pi)));
            }
            uint256 depth = p.m + p.logBlowup;
            if (_root(r, p, q, hashes[TREE_W0], depth, scratch) != uint256(roots.w0)) revert STEP_MERKLE_W0();
            if (_root(r, p, q, hashes[TREE_WT], depth, scratch) != uint256(roots.wt)) {
                if (p.joint) revert STEP_MERKLE_J();
                revert STEP_MERKLE_WT();
            }
            if (!p.joint && _root(r, p, q, hashes[TREE_S], depth, scratch) != uint256(roots.s)) revert STEP_MERKLE_S();
            if (_root(r, p, q, hashes[TREE_D], depth, scratch) != uint256(roots.d)) revert STEP_MERKLE_D();
        }
    }

    /// Σ_r eq(ρ_row, r)·leaf_r for every query of level 1, into `q.rows`.
    function openLevel1(Reader memory r, Plan memory p, bytes32 root, Queries memory q, uint256 rowTable)
        internal
        pure
    {
        unchecked {
            uint256 count = (1 << p.k1) + p.randomRows + 1;
            uint256 hashes = Ext.allocate(q.size);
            uint256 scratch = Ext.allocate(4 + count);
            uint256 values = Ext.allocate(count);
            q.rows = Ext.allocate(q.size);
            for (uint256 k; k < q.size; ++k) {
                uint256 pos = _takeSymbols(r, 2 * count);
                Transcript.elements(pos, count, values);
                Ext.put(q.rows, k, Ext.dot(values, rowTable, count));
                Ext.put(hashes, k, _hash(LEVEL1_HEADER, pos, 16 * count, scratch));
            }
            if (_root(r, p, q, hashes, p.m - p.k1 + p.logBlowup1, scratch) != uint256(root)) revert STEP_MERKLE_L1();
        }
    }

    /// The weights of a tree's stored rows.
    function _weights(Plan memory p, uint256 tree, uint256 rowTable) private pure returns (uint256 list) {
        unchecked {
            uint256 rows = Ext.get(p.trees, 4 * tree + 2);
            uint256 pos = Ext.get(p.trees, 4 * tree + 3);
            list = Ext.allocate(rows);
            for (uint256 k; k < rows; ++k) {
                Ext.put(list, k, Ext.get(rowTable, ZkPlan.word(pos, k)));
            }
        }
    }

    /// @param joined in the joint variant the leaf hash of S, which ends the leaf of WT
    /// @return sum  Σ weight·symbol
    /// @return hash of the leaf
    /// @return tail calldata position of the special rows' symbols, for S
    function _leaf(Reader memory r, Plan memory p, uint256 tree, uint256 weights, uint256 scratch, uint256 joined)
        private
        pure
        returns (uint256 sum, uint256 hash, uint256 tail)
    {
        unchecked {
            uint256 rows = Ext.get(p.trees, 4 * tree + 2);
            uint256 count = tree == TREE_S ? rows + SPECIAL : rows;
            uint256 pos = _takeSymbols(r, count);
            tail = pos + 8 * rows;
            bool canonical = true;
            (canonical, sum) = _fold(pos, rows, weights);
            if (tree == TREE_S) {
                (bool also,) = _fold(tail, SPECIAL, weights);
                canonical = canonical && also;
            }
            if (!canonical) revert STEP_NONCANONICAL();
            uint256 header = Ext.get(p.trees, 4 * tree);
            if (joined != 0) {
                assembly ("memory-safe") {
                    mstore(add(scratch, add(8, shl(3, count))), joined)
                }
                return (sum, _hashBefore(header, pos, 8 * count, 32, scratch), tail);
            }
            uint256 aux = Ext.get(p.trees, 4 * tree + 1);
            if (aux != 0) r.take(aux);
            hash = _hash(header, pos, 8 * count + aux, scratch);
        }
    }

    /// Where `count` symbols start. A proof that ends inside them is refused for the first symbol that is bad.
    function _takeSymbols(Reader memory r, uint256 count) private pure returns (uint256 pos) {
        unchecked {
            pos = r.cursor;
            if (pos + 8 * count > r.end) {
                (bool canonical,) = _fold(pos, (r.end - pos) / 8, r.buffer);
                if (!canonical) revert STEP_NONCANONICAL();
                revert STEP_PROOF_LENGTH();
            }
            r.cursor = pos + 8 * count;
        }
    }

    /// Σ weight_i·symbol_i, and whether every symbol is below p.
    function _fold(uint256 pos, uint256 count, uint256 weights) private pure returns (bool canonical, uint256 sum) {
        uint256 prime = Ext.P;
        assembly ("memory-safe") {
            let re := 0
            let im := 0
            canonical := 1
            for { let end := add(pos, shl(3, count)) } lt(pos, end) { pos := add(pos, 8) } {
                let s := shr(192, calldataload(pos))
                canonical := and(canonical, lt(s, prime))
                let v := mul(mload(weights), s)
                weights := add(weights, 32)
                re := add(re, and(v, LOW))
                im := add(im, shr(128, v))
            }
            sum := or(mod(re, prime), shl(128, mod(im, prime)))
        }
    }

    function _pair(uint256 pos) private pure returns (uint256 v) {
        assembly ("memory-safe") {
            let w := shr(128, calldataload(pos))
            v := or(shr(64, w), shl(128, and(w, 0xffffffffffffffff)))
        }
    }

    function _hash(uint256 header, uint256 pos, uint256 length, uint256 scratch) private pure returns (uint256) {
        return _hashBefore(header, pos, length, 0, scratch);
    }

    /// keccak256(be64(header) ‖ calldata ‖ what already lies behind it in `scratch`).
    function _hashBefore(uint256 header, uint256 pos, uint256 length, uint256 more, uint256 scratch)
        private
        pure
        returns (uint256 h)
    {
        assembly ("memory-safe") {
            let word := mload(add(scratch, 8))
            mstore(scratch, or(shl(192, header), shr(64, word)))
            calldatacopy(add(scratch, 8), pos, length)
            h := keccak256(scratch, add(8, add(length, more)))
        }
    }

    /// The root that these leaves and the next siblings of the proof give. Siblings are read before their number is
    /// known: a proof that ends among them is refused at the end, whatever was hashed.
    function _root(Reader memory r, Plan memory p, Queries memory q, uint256 hashes, uint256 depth, uint256 scratch)
        private
        pure
        returns (uint256)
    {
        uint256 nodes = _nodes(q, hashes);
        uint256 end = nodes + 64 * q.size;
        uint256 pos = r.cursor;
        for (; depth > 0; --depth) {
            (end, pos) = _level(nodes, end, pos, p.digestBytes, scratch);
        }
        if (pos > r.end) revert STEP_PROOF_LENGTH();
        r.cursor = pos;
        return Ext.get(nodes, 1);
    }

    /// Pairs of place and hash.
    function _nodes(Queries memory q, uint256 hashes) private pure returns (uint256 nodes) {
        nodes = Ext.allocate(2 * q.size);
        for (uint256 k; k < q.size; ++k) {
            Ext.put(nodes, 2 * k, Ext.get(q.indices, k));
            Ext.put(nodes, 2 * k + 1, Ext.get(hashes, k));
        }
    }

    /// One level of a multiproof, in place: the parents of the nodes up to `end`.
    /// @return to   end of the parents
    /// @return next calldata position after the siblings
    function _level(uint256 nodes, uint256 end, uint256 pos, uint256 cut, uint256 scratch)
        private
        pure
        returns (uint256 to, uint256 next)
    {
        assembly ("memory-safe") {
            to := nodes
            next := pos
            mstore8(add(scratch, shl(1, cut)), 1)
            for {} lt(nodes, end) { nodes := add(nodes, 64) } {
                let place := mload(nodes)
                let own := mload(add(nodes, 32))
                switch and(place, 1)
                case 0 {
                    mstore(scratch, own)
                    let right := add(nodes, 64)
                    switch and(lt(right, end), eq(mload(right), add(place, 1)))
                    case 1 {
                        mcopy(add(scratch, cut), add(right, 32), cut)
                        nodes := right
                    }
                    default {
                        calldatacopy(add(scratch, cut), next, cut)
                        next := add(next, cut)
                    }
                }
                default {
                    calldatacopy(scratch, next, cut)
                    next := add(next, cut)
                    mcopy(add(scratch, cut), add(nodes, 32), cut)
                }
                mstore(to, shr(1, place))
                mstore(add(to, 32), keccak256(scratch, add(shl(1, cut), 1)))
                to := add(to, 64)
            }
        }
    }
}
