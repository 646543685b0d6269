// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IRoles, Role} from "./interfaces/IRoles.sol";
import {CALLER, PAUSED, ROLE_NONE, ROLE_ZERO, TERMS_TOKEN, TOO_EARLY} from "./Errors.sol";

/// Who may do what in all contracts of one deployment, and which tokens new jobs may name. No role moves money.
/// A role passes on in two steps with DELAY between them. contracts/SPEC.md §4.
contract Roles is IRoles {
    struct Transfer {
        address to;
        uint40 from;
    }

    uint256 public constant DELAY = 48 hours;

    mapping(Role => address) public holderOf;
    mapping(Role => Transfer) public transferOf;
    mapping(address token => bool) public allowed;
    bool public paused;

    event RoleProposed(Role indexed role, address indexed to, uint256 from);
    event RoleTaken(Role indexed role, address indexed from, address indexed to);
    event TokenAllowed(address indexed token);
    event TokenDisallowed(address indexed token);
    event PauseSet(bool paused);

    constructor(address governor_, address guardian_, address treasury_, address revoker_, address[] memory tokens) {
        _hold(Role.Governor, governor_);
        _hold(Role.Guardian, guardian_);
        _hold(Role.Treasury, treasury_);
        _hold(Role.Revoker, revoker_);
        for (uint256 i = 0; i < tokens.length; ++i) _allow(tokens[i]);
    }

    function governor() external view returns (address) {
        return holderOf[Role.Governor];
    }

    function guardian() external view returns (address) {
        return holderOf[Role.Guardian];
    }

    function treasury() external view returns (address) {
        return holderOf[Role.Treasury];
    }

    function revoker() external view returns (address) {
        return holderOf[Role.Revoker];
    }

    /// First step. Proposing the zero address takes back what was proposed.
    function propose(Role role, address to) external {
        requireRole(Role.Governor, msg.sender);
        uint40 from = uint40(block.timestamp + DELAY);
        transferOf[role] = Transfer(to, from);
        emit RoleProposed(role, to, from);
    }

    /// Second step, by whoever was proposed; the governor may take it for a treasury that cannot call.
    function take(Role role) external {
        Transfer memory t = transferOf[role];
        if (t.to == address(0)) revert ROLE_NONE(uint8(role));
        if (block.timestamp < t.from) revert TOO_EARLY(t.from);
        bool forTreasury = role == Role.Treasury && msg.sender == holderOf[Role.Governor];
        if (msg.sender != t.to && !forTreasury) revert CALLER(t.to, msg.sender);
        delete transferOf[role];
        _hold(role, t.to);
    }

    /// Fee-on-transfer and rebasing tokens break conservation and must never be allowed. The zero address is native coin.
    function allow(address token) external {
        requireRole(Role.Governor, msg.sender);
        _allow(token);
    }

    /// For new jobs; what is already there stays.
    function disallow(address token) external {
        requireRole(Role.Governor, msg.sender);
        allowed[token] = false;
        emit TokenDisallowed(token);
    }

    function setPaused(bool paused_) external {
        requireRole(Role.Guardian, msg.sender);
        paused = paused_;
        emit PauseSet(paused_);
    }

    /// Reverts unless new jobs may name the token now.
    function requireOpen(address token) external view {
        if (paused) revert PAUSED();
        requireAllowed(token);
    }

    function requireAllowed(address token) public view {
        if (!allowed[token]) revert TERMS_TOKEN(token);
    }

    /// @inheritdoc IRoles
    function requireRole(Role role, address who) public view {
        if (who != holderOf[role]) revert CALLER(holderOf[role], who);
    }

    function _hold(Role role, address to) private {
        if (to == address(0)) revert ROLE_ZERO(uint8(role));
        emit RoleTaken(role, holderOf[role], to);
        holderOf[role] = to;
    }

    function _allow(address token) private {
        allowed[token] = true;
        emit TokenAllowed(token);
    }
}
