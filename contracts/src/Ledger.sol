// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Roles} from "./Roles.sol";
import {SettlementEvents} from "./SettlementEvents.sol";
import {NOTHING_DUE, PULLED, STAKE_SHORT, TRANSFER, VALUE} from "./Errors.sol";

/// Credits, stakes and the only two places where money moves: _pull in, withdrawTo out. contracts/SPEC.md §9.
abstract contract Ledger is SettlementEvents {
    using SafeERC20 for IERC20;

    struct Stake {
        uint128 free;
        uint128 locked;
    }

    Roles public immutable roles;

    mapping(address who => mapping(address token => uint256)) public credits;
    mapping(address provider => mapping(address token => Stake)) public stakes;

    constructor(Roles roles_) {
        roles = roles_;
    }

    /// The stake counts only once the money is here: a token that calls back finds none.
    function depositStake(address token, uint128 amount) external payable {
        roles.requireAllowed(token);
        _pull(token, amount);
        Stake storage s = stakes[msg.sender][token];
        s.free += amount;
        emit StakeChanged(msg.sender, token, s.free, s.locked);
    }

    /// Free stake becomes credit, to be withdrawn.
    function releaseStake(address token, uint128 amount) external {
        Stake storage s = stakes[msg.sender][token];
        if (amount > s.free) revert STAKE_SHORT(amount, s.free);
        s.free -= amount;
        emit StakeChanged(msg.sender, token, s.free, s.locked);
        _credit(msg.sender, token, amount);
    }

    function withdraw(address token) external {
        withdrawTo(token, msg.sender);
    }

    /// The only transfer out, by the creditor alone.
    function withdrawTo(address token, address to) public returns (uint256 amount) {
        amount = credits[msg.sender][token];
        if (amount == 0) revert NOTHING_DUE();
        if (to == address(0)) revert TRANSFER(to, amount);
        credits[msg.sender][token] = 0;
        emit Withdrawn(msg.sender, token, to, amount);
        if (token == address(0)) {
            (bool ok,) = to.call{value: amount}("");
            if (!ok) revert TRANSFER(to, amount);
        } else {
            IERC20(token).safeTransfer(to, amount);
        }
    }

    /// Takes exactly `amount`: a token that keeps a fee, or gives less than it says, is refused.
    function _pull(address token, uint256 amount) internal {
        uint256 value = token == address(0) ? amount : 0;
        if (msg.value != value) revert VALUE(value, msg.value);
        if (token == address(0) || amount == 0) return;
        uint256 expected = IERC20(token).balanceOf(address(this)) + amount;
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        uint256 got = IERC20(token).balanceOf(address(this));
        if (got != expected) revert PULLED(expected, got);
    }

    function _credit(address who, address token, uint256 amount) internal {
        if (amount == 0) return;
        credits[who][token] += amount;
        emit Credited(who, token, amount);
    }

    function _lock(address provider, address token, uint128 amount) internal {
        if (amount == 0) return;
        Stake storage s = stakes[provider][token];
        if (amount > s.free) revert STAKE_SHORT(amount, s.free);
        s.free -= amount;
        s.locked += amount;
        emit StakeChanged(provider, token, s.free, s.locked);
    }

    /// `lost` of the locked `amount` leaves the provider; the caller credits it elsewhere.
    function _unlock(address provider, address token, uint128 amount, uint128 lost) internal {
        if (amount == 0) return;
        Stake storage s = stakes[provider][token];
        s.locked -= amount;
        s.free += amount - lost;
        emit StakeChanged(provider, token, s.free, s.locked);
    }
}
