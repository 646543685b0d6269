// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Merkle tree of a run's borders: leaf = keccak256(0x01 ‖ border), node = keccak256(left ‖ right), padded with zero
/// words to a power of two. Leaves hash 33 bytes and nodes 64, so the two cannot be confused. contracts/SPEC.md §3.
library BorderTree {
    /// @param borders 1 or more
    function rootOf(bytes32[] calldata borders) internal pure returns (bytes32 root) {
        uint256 width = 1 << depthOf(borders.length);
        assembly ("memory-safe") {
            // Scratch space above the free pointer; nothing is allocated because nothing is kept.
            let base := mload(0x40)
            let count := borders.length
            mstore8(0x00, 0x01)
            for {let i := 0} lt(i, count) {i := add(i, 1)} {
                mstore(0x01, calldataload(add(borders.offset, shl(5, i))))
                mstore(add(base, shl(5, i)), keccak256(0x00, 0x21))
            }
            for {let i := count} lt(i, width) {i := add(i, 1)} {
                mstore(add(base, shl(5, i)), 0)
            }
            for {} gt(width, 1) {} {
                width := shr(1, width)
                for {let i := 0} lt(i, width) {i := add(i, 1)} {
                    mstore(add(base, shl(5, i)), keccak256(add(base, shl(6, i)), 0x40))
                }
            }
            root := mload(base)
        }
    }

    /// Whether `border` is leaf `index` of the tree with `count` leaves under `root`.
    function contains(bytes32 root, uint256 count, uint256 index, bytes32 border, bytes32[] calldata path)
        internal
        pure
        returns (bool)
    {
        if (index >= count || path.length != depthOf(count)) return false;
        bytes32 node = keccak256(abi.encodePacked(bytes1(0x01), border));
        for (uint256 i = 0; i < path.length; ++i) {
            node = index & 1 == 0 ? _hash(node, path[i]) : _hash(path[i], node);
            index >>= 1;
        }
        return node == root;
    }

    function depthOf(uint256 count) internal pure returns (uint256 depth) {
        while ((1 << depth) < count) ++depth;
    }

    function _hash(bytes32 left, bytes32 right) private pure returns (bytes32 node) {
        assembly ("memory-safe") {
            mstore(0x00, left)
            mstore(0x20, right)
            node := keccak256(0x00, 0x40)
        }
    }
}
