// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {CARRIES, LOW, P, ROOM, SYMBOL, SYMBOLS} from "./Lanes.sol";
import {Level, Plan, ZkPlan, TREE_D, TREE_S, TREE_W0, TREE_WT} from "./ZkPlan.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {STEP_NONCANONICAL, STEP_PROOF_LENGTH} from "./ZkErrors.sol";

/// Opened leaves, their Merkle paths and what their symbols add up to (libs/zk/SPEC.md §2.1, §4.4, §9.2, §10).
library Leaves {
    using Transcript for Reader;

    uint256 private constant SPECIAL = 6;
    uint256 private constant LEVEL_HEADER = 0x4c01;

    struct Queries {
        uint256 indices;
        uint256 size;
        uint256 rows; // f* ‖ R* at each point
        uint256 strips; // σ* at each point
    }

    /// Rows and strips at the queries.
    /// @param rowTable eq(ρ, ·) over the global rows
    /// @param delta    the weight of the folded rows beside the mask
    /// @return hashes of the leaves of each tree
    function open(Reader memory r, Plan memory p, Queries memory q, uint256 rowTable, uint256 delta)
        internal
        pure
        returns (uint256[4] memory hashes)
    {
        unchecked {
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
        }
    }

    /// Σ_r eq(ρ_row, r)·leaf_r for every query of a level, into `q.rows`.
    /// @param rowTable eq(ρ_row, ·)
    /// @return root that the leaves lead to
    function openLevel(Reader memory r, Plan memory p, Level memory level, Queries memory q, uint256 rowTable)
        internal
        pure
        returns (uint256 root)
    {
        unchecked {
            uint256 count = level.rows;
            uint256 hashes = Ext.allocate(q.size);
            uint256 scratch = Ext.allocate(4 + count);
            q.rows = Ext.allocate(q.size);
            for (uint256 k; k < q.size; ++k) {
                uint256 pos = _takeSymbols(r, 2 * count);
                (bool canonical, uint256 sum) = Ext.dotElements(pos, count, rowTable);
                if (!canonical) revert STEP_NONCANONICAL();
                Ext.put(q.rows, k, sum);
                Ext.put(hashes, k, _hash(LEVEL_HEADER, pos, 16 * count, scratch));
            }
            return rootOf(r, p, q, hashes, level.columnVars + level.logBlowup);
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

    /// Σ weight_i·symbol_i, and whether every symbol is below p. Four symbols are read at once, two to a word, 128 bits
    /// apart: one that is not below p carries out of its 64 bits when 2^64 − p is added.
    function _fold(uint256 pos, uint256 count, uint256 weights) private pure returns (bool canonical, uint256 sum) {
        assembly ("memory-safe") {
            let carry := 0
            let products := 0
            let im := 0
            let end := add(pos, shl(3, count))
            for { let last := add(pos, shl(5, shr(2, count))) } lt(pos, last) { pos := add(pos, 32) } {
                let odd := calldataload(pos)
                let even := and(shr(64, odd), SYMBOLS)
                odd := and(odd, SYMBOLS)
                carry := or(carry, or(add(even, ROOM), add(odd, ROOM)))
                let a := mul(mload(weights), shr(128, even))
                let b := mul(mload(add(weights, 32)), shr(128, odd))
                let c := mul(mload(add(weights, 64)), and(even, LOW))
                let d := mul(mload(add(weights, 96)), and(odd, LOW))
                weights := add(weights, 128)
                products := add(products, add(add(a, b), add(c, d)))
                im := add(im, add(add(shr(128, a), shr(128, b)), add(shr(128, c), shr(128, d))))
            }
            for {} lt(pos, end) { pos := add(pos, 8) } {
                let s := shr(192, calldataload(pos))
                carry := or(carry, add(s, ROOM))
                let v := mul(mload(weights), s)
                weights := add(weights, 32)
                products := add(products, v)
                im := add(im, shr(128, v))
            }
            canonical := iszero(and(carry, CARRIES))
            // The low halves alone: what the high ones added to the sum is taken out again.
            sum := or(mod(sub(products, shl(128, im)), P), shl(128, mod(im, P)))
        }
    }

    function _pair(uint256 pos) private pure returns (uint256 v) {
        assembly ("memory-safe") {
            let w := shr(128, calldataload(pos))
            v := or(shr(64, w), shl(128, and(w, SYMBOL)))
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
    function rootOf(Reader memory r, Plan memory p, Queries memory q, uint256 hashes, uint256 depth)
        internal
        pure
        returns (uint256 root)
    {
        unchecked {
            uint256 nodes = _nodes(q, hashes);
            uint256 apart = _levelsApart(nodes, q.size, depth);
            uint256 pos = _climbApart(nodes, q.size, apart, r.cursor, p.digestBytes);
            (root, pos) = _climb(nodes, nodes + 64 * q.size, depth - apart, pos, p.digestBytes);
            if (pos > r.end) revert STEP_PROOF_LENGTH();
            r.cursor = pos;
        }
    }

    /// Pairs of place and hash, and room for one more place.
    function _nodes(Queries memory q, uint256 hashes) private pure returns (uint256 nodes) {
        unchecked {
            nodes = Ext.allocate(2 * q.size + 1);
            for (uint256 k; k < q.size; ++k) {
                Ext.put(nodes, 2 * k, Ext.get(q.indices, k));
                Ext.put(nodes, 2 * k + 1, Ext.get(hashes, k));
            }
        }
    }

    /// How many levels no two of the nodes meet: below the highest bit in which neighbours differ, where it is lowest.
    function _levelsApart(uint256 nodes, uint256 size, uint256 depth) private pure returns (uint256 levels) {
        assembly ("memory-safe") {
            let least := shl(depth, 1)
            for { let end := add(nodes, shl(6, sub(size, 1))) } lt(nodes, end) { nodes := add(nodes, 64) } {
                let differ := xor(mload(nodes), mload(add(nodes, 64)))
                if lt(differ, least) { least := differ }
            }
            for { least := shr(1, least) } least { least := shr(1, least) } { levels := add(levels, 1) }
        }
    }

    /// Levels on which no two nodes meet, node by node: each takes the siblings that stand `size` digests apart.
    /// @return next calldata position after the siblings
    function _climbApart(uint256 nodes, uint256 size, uint256 levels, uint256 pos, uint256 cut)
        private
        pure
        returns (uint256 next)
    {
        assembly ("memory-safe") {
            let domain := shl(1, cut)
            let step := mul(size, cut)
            let above := mul(levels, step)
            next := add(pos, above)
            for { let end := add(nodes, shl(6, size)) } lt(nodes, end) { nodes := add(nodes, 64) } {
                let place := mload(nodes)
                let own := mload(add(nodes, 32))
                for { let last := add(pos, above) } lt(pos, last) { pos := add(pos, step) } {
                    switch and(place, 1)
                    case 0 {
                        mstore(0, own)
                        mstore(cut, calldataload(pos))
                    }
                    default {
                        mstore(0, calldataload(pos))
                        mstore(cut, own)
                    }
                    mstore8(domain, 1)
                    own := keccak256(0, add(domain, 1))
                    place := shr(1, place)
                }
                mstore(nodes, place)
                mstore(add(nodes, 32), own)
                pos := add(sub(pos, above), cut)
            }
            mstore8(64, 0)
        }
    }

    /// The levels of a multiproof, in place: each turns the nodes up to `end` into their parents. Words are written whole,
    /// left before right before the domain byte, so that of each only `cut` bytes stay. The message lies in the first
    /// words of memory; its last byte may be the highest of the free memory pointer, which is zero again at the end.
    /// @return root of the only node that is left
    /// @return next calldata position after the siblings
    function _climb(uint256 nodes, uint256 end, uint256 depth, uint256 pos, uint256 cut)
        private
        pure
        returns (uint256 root, uint256 next)
    {
        assembly ("memory-safe") {
            let domain := shl(1, cut)
            for {} depth { depth := sub(depth, 1) } {
                let from := nodes
                let to := nodes
                // No node has this place: the last one has no neighbour.
                mstore(end, not(0))
                for {} lt(from, end) {} {
                    let place := mload(from)
                    let own := mload(add(from, 32))
                    from := add(from, 64)
                    switch and(place, 1)
                    case 0 {
                        mstore(0, own)
                        switch eq(mload(from), or(place, 1))
                        case 0 {
                            mstore(cut, calldataload(pos))
                            pos := add(pos, cut)
                        }
                        default {
                            mstore(cut, mload(add(from, 32)))
                            from := add(from, 64)
                        }
                    }
                    default {
                        mstore(0, calldataload(pos))
                        mstore(cut, own)
                        pos := add(pos, cut)
                    }
                    mstore8(domain, 1)
                    mstore(to, shr(1, place))
                    mstore(add(to, 32), keccak256(0, add(domain, 1)))
                    to := add(to, 64)
                }
                end := to
            }
            mstore8(64, 0)
            root := mload(add(nodes, 32))
            next := pos
        }
    }
}
