// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Settlement} from "../src/Settlement.sol";
import {Terms} from "../src/Types.sol";

/// A client that is a contract: its one key signs by ERC-1271. When it is paid in native coin it calls back.
contract Wallet {
    bytes4 private constant MAGIC = 0x1626ba7e;

    address public immutable owner;
    bool public refuses;
    bytes private _callback;
    address private _target;
    bool public entered;
    bool public succeeded;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        address signer =
            ecrecover(hash, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return !refuses && signer == owner ? MAGIC : bytes4(0xffffffff);
    }

    function setRefuses(bool refuses_) external {
        refuses = refuses_;
    }

    function call(address target, uint256 value, bytes calldata data) external returns (bytes memory) {
        (bool ok, bytes memory result) = target.call{value: value}(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(result, 32), mload(result))
            }
        }
        return result;
    }

    function reenter(address target, bytes calldata data) external {
        (_target, _callback) = (target, data);
    }

    receive() external payable {
        if (_target == address(0)) return;
        entered = true;
        (succeeded,) = _target.call(_callback);
    }
}
