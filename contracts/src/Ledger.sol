// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SettlementEvents} from "./SettlementEvents.sol";
import {CALLER, NOTHING_DUE, STAKE_SHORT, TERMS_TOKEN, TRANSFER, VALUE} from "./Errors.sol";

/// Credits, stakes and the only two places where money moves: _pull in, withdraw out. Settlement §9.
abstract contract Ledger is SettlementEvents {
    using SafeERC20 for IERC20;

    struct Stake {
        uint128 free;
        uint128 locked;
    }

    address public immutable governor; // adds tokens; meant to be a timelock
    address public immutable treasury;

    mapping(address token => bool) public allowed;
    mapping(address who => mapping(address token => uint256)) public credits;
    mapping(address provider => mapping(address token => Stake)) public stakes;

    constructor(address governor_, address treasury_, address[] memory tokens) {
        governor = governor_;
        treasury = treasury_;
        for (uint256 i = 0; i < tokens.length; ++i) _allow(tokens[i]);
    }

    /// Fee-on-transfer and rebasing tokens break conservation and must never be allowed. The zero address is native coin.
    function allowToken(address token) external {
        if (msg.sender != governor) revert CALLER(governor, msg.sender);
        _allow(token);
    }

    function depositStake(address token, uint128 amount) external payable {
        if (!allowed[token]) revert TERMS_TOKEN(token);
        Stake storage s = stakes[msg.sender][token];
        s.free += amount;
        emit StakeChanged(msg.sender, token, s.free, s.locked);
        _pull(token, amount);
    }

    /// Free stake becomes credit, to be withdrawn.
    function releaseStake(address token, uint128 amount) external {
        Stake storage s = stakes[msg.sender][token];
        if (amount > s.free) revert STAKE_SHORT(amount, s.free);
        s.free -= amount;
        emit StakeChanged(msg.sender, token, s.free, s.locked);
        _credit(msg.sender, token, amount);
    }

    /// The only transfer out, to the creditor alone.
    function withdraw(address token) external returns (uint256 amount) {
        amount = credits[msg.sender][token];
        if (amount == 0) revert NOTHING_DUE();
        credits[msg.sender][token] = 0;
        emit Withdrawn(msg.sender, token, amount);
        if (token == address(0)) {
            (bool ok,) = msg.sender.call{value: amount}("");
            if (!ok) revert TRANSFER(msg.sender, amount);
        } else {
            IERC20(token).safeTransfer(msg.sender, amount);
        }
    }

    function _allow(address token) private {
        allowed[token] = true;
        emit TokenAllowed(token);
    }

    function _pull(address token, uint256 amount) internal {
        uint256 value = token == address(0) ? amount : 0;
        if (msg.value != value) revert VALUE(value, msg.value);
        if (token != address(0) && amount != 0) IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
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
