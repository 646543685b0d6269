// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ANCHOR_EMPTY, ANCHOR_ORDER} from "./Errors.sol";

/// Checkpoints of transparency logs, as whoever calls says: the newest of each sender and origin. contracts/SPEC.md §18b.
contract LogAnchors {
    struct Anchor {
        uint64 size;
        /// Of the block, unix seconds.
        uint64 time;
        bytes32 root;
    }

    /// By sender and SHA-256 of the origin.
    mapping(address sender => mapping(bytes32 origin => Anchor)) public newest;

    event Anchored(address indexed sender, bytes32 indexed origin, uint64 size, bytes32 root);

    /// A log only grows: a smaller size, and another root of the same size, are refused.
    function anchor(bytes32 origin, uint64 size, bytes32 root) external {
        Anchor storage last = newest[msg.sender][origin];
        uint64 known = last.size;
        if (size == 0) revert ANCHOR_EMPTY();
        if (size < known || (size == known && root != last.root)) revert ANCHOR_ORDER(known, size);
        newest[msg.sender][origin] = Anchor(size, uint64(block.timestamp), root);
        emit Anchored(msg.sender, origin, size, root);
    }
}
