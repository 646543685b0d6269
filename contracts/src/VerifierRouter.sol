// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "./interfaces/IStepVerifier.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {
    CALLER,
    ROUTER_CODE,
    ROUTER_TAKEN,
    ROUTER_TOMBSTONED,
    ROUTER_UNKNOWN,
    SEAL_LENGTH
} from "./Errors.sol";

/// Selector → verifier. A selector is added once, may be tombstoned for ever, and is never used again. Settlement §4.
contract VerifierRouter is IVerifierRouter {
    address public immutable governor; // adds; meant to be a timelock
    address public immutable guardian; // tombstones at once

    mapping(bytes4 selector => IStepVerifier) private _verifiers;
    mapping(bytes4 selector => bool) private _tombstoned;

    constructor(address governor_, address guardian_) {
        governor = governor_;
        guardian = guardian_;
    }

    function add(bytes4 selector, IStepVerifier verifier) external {
        if (msg.sender != governor) revert CALLER(governor, msg.sender);
        if (address(_verifiers[selector]) != address(0) || _tombstoned[selector]) revert ROUTER_TAKEN(selector);
        if (address(verifier).code.length == 0) revert ROUTER_CODE(address(verifier));
        _verifiers[selector] = verifier;
        emit SelectorAdded(selector, address(verifier));
    }

    function tombstone(bytes4 selector) external {
        if (msg.sender != guardian) revert CALLER(guardian, msg.sender);
        if (_tombstoned[selector]) revert ROUTER_TOMBSTONED(selector);
        _tombstoned[selector] = true;
        emit SelectorTombstoned(selector);
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length < 4) revert SEAL_LENGTH(seal.length);
        verifierOf(bytes4(seal[:4])).verify(seal, statementDigest);
    }

    function verifierOf(bytes4 selector) public view returns (IStepVerifier verifier) {
        if (_tombstoned[selector]) revert ROUTER_TOMBSTONED(selector);
        verifier = _verifiers[selector];
        if (address(verifier) == address(0)) revert ROUTER_UNKNOWN(selector);
    }

    function isLive(bytes4 selector) external view returns (bool) {
        return address(_verifiers[selector]) != address(0) && !_tombstoned[selector];
    }
}
