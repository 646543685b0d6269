// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BlockHeader} from "@openzeppelin/contracts/utils/BlockHeader.sol";
import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {DRAW_HEADER, DRAW_NUMBER} from "./Errors.sol";

/// The RANDAO mix of one past block, from its header checked against the chain's own history. contracts/SPEC.md §8.
contract BlockRandao {
    /// One header of this chain was read: BLOCKHASH is here the hash of the header, which it is not on every chain.
    bool public isTested;

    event SelfTested(uint256 number, bytes32 mix);

    /// Anyone, once, with the header of a recent block; jobs may be sampled from then on.
    function test(uint256 number, bytes calldata header) external {
        bytes32 mix = mixOf(number, header);
        isTested = true;
        emit SelfTested(number, mix);
    }

    /// @param number one of the last 8191 blocks
    /// @param header its RLP encoding
    function mixOf(uint256 number, bytes calldata header) public view returns (bytes32) {
        bytes32 expected = Blockhash.blockHash(number);
        bytes32 got = keccak256(header);
        if (expected == 0 || got != expected) revert DRAW_HEADER(expected, got);
        if (BlockHeader.getNumber(header) != number) revert DRAW_NUMBER(number);
        return BlockHeader.getPrevRandao(header);
    }
}
