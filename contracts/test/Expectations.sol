// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {vm} from "./Vm.sol";

/// What a test expects.
abstract contract Expectations {
    function equal(uint256 a, uint256 b) internal pure {
        require(a == b, string.concat("expected ", _text(b), ", got ", _text(a)));
    }

    function fails(bytes4 selector) internal {
        vm.expectPartialRevert(selector);
    }
}
