// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ANCHOR_EMPTY, ANCHOR_ORDER} from "../src/Errors.sol";
import {LogAnchors} from "../src/LogAnchors.sol";
import {vm} from "./Vm.sol";

contract LogAnchorsTest {
    LogAnchors private anchors;
    bytes32 private constant ORIGIN = keccak256("log");

    function setUp() public {
        anchors = new LogAnchors();
        vm.warp(1_800_000_000);
    }

    function isNewest(address sender, bytes32 origin, uint64 size, bytes32 root) private view {
        (uint64 gotSize, uint64 time, bytes32 gotRoot) = anchors.newest(sender, origin);
        require(gotSize == size && gotRoot == root, "newest");
        require(time == (size == 0 ? 0 : 1_800_000_000), "time");
    }

    function test_a_log_that_grows_is_anchored() public {
        anchors.anchor(ORIGIN, 5, bytes32("a"));
        anchors.anchor(ORIGIN, 5, bytes32("a"));
        anchors.anchor(ORIGIN, 9, bytes32("b"));
        isNewest(address(this), ORIGIN, 9, "b");
    }

    function test_a_smaller_size_is_refused() public {
        anchors.anchor(ORIGIN, 5, bytes32("a"));
        vm.expectRevert(abi.encodeWithSelector(ANCHOR_ORDER.selector, 5, 4));
        anchors.anchor(ORIGIN, 4, bytes32("a"));
        isNewest(address(this), ORIGIN, 5, "a");
    }

    function test_another_root_of_the_same_size_is_refused() public {
        anchors.anchor(ORIGIN, 5, bytes32("a"));
        vm.expectRevert(abi.encodeWithSelector(ANCHOR_ORDER.selector, 5, 5));
        anchors.anchor(ORIGIN, 5, bytes32("b"));
    }

    function test_a_log_without_entries_is_refused() public {
        vm.expectRevert(ANCHOR_EMPTY.selector);
        anchors.anchor(ORIGIN, 0, bytes32("a"));
    }

    function test_senders_and_origins_are_apart() public {
        anchors.anchor(ORIGIN, 5, bytes32("a"));
        vm.prank(address(7));
        anchors.anchor(ORIGIN, 2, bytes32("c"));
        anchors.anchor(keccak256("other"), 1, bytes32("d"));
        isNewest(address(this), ORIGIN, 5, "a");
        isNewest(address(7), ORIGIN, 2, "c");
        isNewest(address(this), keccak256("other"), 1, "d");
        isNewest(address(8), ORIGIN, 0, 0);
    }

    function test_sizes_never_shrink(uint64[8] calldata sizes) public {
        uint64 most = 0;
        for (uint256 i = 0; i < sizes.length; i++) {
            try anchors.anchor(ORIGIN, sizes[i], bytes32(uint256(sizes[i]))) {
                require(sizes[i] >= most && sizes[i] > 0, "order");
                most = sizes[i];
            } catch {
                require(sizes[i] < most || sizes[i] == 0, "refused");
            }
            isNewest(address(this), ORIGIN, most, bytes32(uint256(most)));
        }
    }
}
