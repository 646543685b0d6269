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

    function _text(uint256 value) private pure returns (string memory) {
        if (value == 0) return "0";
        bytes memory out;
        for (; value != 0; value /= 10) out = abi.encodePacked(bytes1(uint8(48 + value % 10)), out);
        return string(out);
    }
}
