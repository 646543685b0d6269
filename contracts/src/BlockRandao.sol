// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BlockHeader} from "@openzeppelin/contracts/utils/BlockHeader.sol";
import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {DRAW_HEADER} from "./Errors.sol";

/// The RANDAO mix of one past block, from its header checked against the chain's own history. Settlement §8.
contract BlockRandao {
    /// @param number one of the last 8191 blocks
    /// @param header its RLP encoding
    function mixOf(uint256 number, bytes calldata header) external view returns (bytes32) {
        bytes32 expected = Blockhash.blockHash(number);
        bytes32 got = keccak256(header);
        if (expected == 0 || got != expected) revert DRAW_HEADER(expected, got);
        return BlockHeader.getPrevRandao(header);
    }
}
