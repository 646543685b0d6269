// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A token that calls back before and after every transfer, and one that lies: what an allow-list must keep out, and
/// what the escrow must survive if it does not.
contract HookToken is ERC20("Hook", "HOOK") {
    address private _target;
    bytes private _callback;
    bool private _inside;
    uint256 public entered;
    uint256 public succeeded;

    function mint(address who, uint256 amount) external {
        _mint(who, amount);
    }

    function reenter(address target, bytes calldata data) external {
        (_target, _callback) = (target, data);
    }

    function _update(address from, address to, uint256 value) internal override {
        _call();
        super._update(from, to, value);
        _call();
    }

    function _call() private {
        if (_target == address(0) || _inside) return;
        _inside = true;
        ++entered;
        (bool ok,) = _target.call(_callback);
        if (ok) ++succeeded;
        _inside = false;
    }
}
