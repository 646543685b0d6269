// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// The RANDAO mix of past blocks. contracts/SPEC.md §8.
interface IBlockRandao {
    /// One header of this chain was read.
    function isTested() external view returns (bool);

    /// @param number one of the last 8191 blocks
    /// @param header its RLP encoding
    function mixOf(uint256 number, bytes calldata header) external view returns (bytes32);
}
