// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ITeeVerifier} from "../interfaces/ITeeVerifier.sol";
import {IStepVerifier} from "../interfaces/IStepVerifier.sol";
import {EnclaveRegistry} from "../EnclaveRegistry.sol";
import {ENCLAVE_UNKNOWN, SEAL_LENGTH, SEAL_SELECTOR, SIGNATURE} from "../Errors.sol";

/// TeeSeal: selector ‖ r ‖ s ‖ v over an EIP-712 digest by a registered settlement key. Settlement §3, §10.
/// High s is accepted: no signature is used as an identifier.
contract TeeVerifier is ITeeVerifier {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/tee/1"));
    uint256 private constant SEAL_BYTES = 69;

    EnclaveRegistry public immutable registry;

    constructor(EnclaveRegistry registry_) {
        registry = registry_;
    }

    /// @inheritdoc IStepVerifier
    /// @dev Liveness under the key's own registration. Settlement asks verifyEnclave, which also binds the job's terms.
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        address key = _recover(seal, statementDigest);
        EnclaveRegistry.Enclave memory e = registry.enclaveOf(key);
        registry.requireLive(key, e.policy, e.provider, 1);
    }

    /// @inheritdoc ITeeVerifier
    function verifyEnclave(
        bytes calldata seal,
        bytes32 statementDigest,
        bytes32 policy,
        address provider,
        uint8 minTier
    ) external view returns (address key, uint8 tier) {
        key = _recover(seal, statementDigest);
        tier = registry.requireLive(key, policy, provider, minTier);
    }

    /// @inheritdoc ITeeVerifier
    function isLive(address key, bytes32 policy, address provider, uint8 minTier) external view returns (bool) {
        try registry.requireLive(key, policy, provider, minTier) returns (uint8) {
            return true;
        } catch (bytes memory reason) {
            // Out of gas is not a verdict.
            if (reason.length == 0) revert ENCLAVE_UNKNOWN(key);
            return false;
        }
    }

    /// @inheritdoc ITeeVerifier
    function requireQuorum(bytes32 structHash, bytes[] calldata signatures) external view {
        registry.requireQuorum(structHash, signatures);
    }

    function _recover(bytes calldata seal, bytes32 digest) private pure returns (address key) {
        if (seal.length != SEAL_BYTES) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal[:4]) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal[:4]));
        key = ecrecover(digest, uint8(seal[68]), bytes32(seal[4:36]), bytes32(seal[36:68]));
        if (key == address(0)) revert SIGNATURE(key);
    }
}
