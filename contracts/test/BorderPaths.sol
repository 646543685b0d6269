// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Roots and Merkle paths of borders, built by levels: another way than the library that they test.
abstract contract BorderPaths {
    function rootOf(bytes32[] memory b) internal pure returns (bytes32) {
        bytes32[] memory level = leaves(b);
        while (level.length > 1) level = up(level);
        return level[0];
    }

    function pathOf(bytes32[] memory b, uint256 index) internal pure returns (bytes32[] memory path) {
        bytes32[] memory level = leaves(b);
        uint256 depth;
        while (1 << depth < level.length) ++depth;
        path = new bytes32[](depth);
        for (uint256 i = 0; i < depth; ++i) {
            path[i] = level[index ^ 1];
            index >>= 1;
            level = up(level);
        }
    }

    function leaves(bytes32[] memory b) private pure returns (bytes32[] memory level) {
        uint256 width = 1;
        while (width < b.length) width *= 2;
        level = new bytes32[](width);
        for (uint256 i = 0; i < b.length; ++i) level[i] = keccak256(abi.encodePacked(bytes1(0x01), b[i]));
    }

    function up(bytes32[] memory level) private pure returns (bytes32[] memory out) {
        out = new bytes32[](level.length / 2);
        for (uint256 i = 0; i < out.length; ++i) out[i] = keccak256(abi.encode(level[2 * i], level[2 * i + 1]));
    }
}
