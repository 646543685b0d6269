// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IRoles, Role} from "./interfaces/IRoles.sol";
import {IStepVerifier} from "./interfaces/IStepVerifier.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {ROUTER_CODE, ROUTER_TAKEN, ROUTER_TOMBSTONED, ROUTER_UNKNOWN, SEAL_LENGTH} from "./Errors.sol";

/// Selector → verifier, or Keys. A selector is added once by the governor, may be tombstoned for ever by the guardian, and
/// is never used again. contracts/SPEC.md §4.
contract VerifierRouter is IVerifierRouter {
    IRoles public immutable roles;

    /// One word: every judged seal reads it.
    struct Entry {
        IStepVerifier verifier;
        bool isTombstoned;
    }

    mapping(bytes4 selector => Entry) private _entries;

    constructor(IRoles roles_) {
        roles = roles_;
    }

    function add(bytes4 selector, IStepVerifier verifier) external {
        roles.requireRole(Role.Governor, msg.sender);
        Entry storage e = _entries[selector];
        if (address(e.verifier) != address(0) || e.isTombstoned) revert ROUTER_TAKEN(selector);
        if (address(verifier).code.length == 0) revert ROUTER_CODE(address(verifier));
        e.verifier = verifier;
        emit SelectorAdded(selector, address(verifier));
    }

    function tombstone(bytes4 selector) external {
        roles.requireRole(Role.Guardian, msg.sender);
        Entry storage e = _entries[selector];
        if (e.isTombstoned) revert ROUTER_TOMBSTONED(selector);
        e.isTombstoned = true;
        emit SelectorTombstoned(selector);
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length < 4) revert SEAL_LENGTH(seal.length);
        verifierOf(bytes4(seal[:4])).verify(seal, statementDigest);
    }

    function verifierOf(bytes4 selector) public view returns (IStepVerifier) {
        Entry memory e = _entries[selector];
        if (e.isTombstoned) revert ROUTER_TOMBSTONED(selector);
        if (address(e.verifier) == address(0)) revert ROUTER_UNKNOWN(selector);
        return e.verifier;
    }

    function isLive(bytes4 selector) external view returns (bool) {
        Entry memory e = _entries[selector];
        return address(e.verifier) != address(0) && !e.isTombstoned;
    }
}
