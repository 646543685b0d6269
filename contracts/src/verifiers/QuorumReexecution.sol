// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {EnclaveRegistry} from "../EnclaveRegistry.sol";
import {IStepVerifier} from "../interfaces/IStepVerifier.sol";
import {QUORUM_REPEATED, QUORUM_SIZE, SEAL_LENGTH, SEAL_SELECTOR, SIGNATURE} from "../Errors.sol";

/// A segment that enclaves of m hosts trained again with the same outcome: for duties when a step verifier refuses true
/// proofs. The seal is the selector and m signatures r ‖ s ‖ v over the statement, signers ascending. Settlement §4.
contract QuorumReexecution is IStepVerifier {
    uint256 private constant SIGNATURE_BYTES = 65;
    uint256 private constant THRESHOLD_MAX = 32;

    EnclaveRegistry public immutable registry;
    bytes32 public immutable policy; // of the auditors' enclaves
    uint8 public immutable minTier;
    uint256 public immutable threshold;
    /// Names all four, so that terms that list it agree to them.
    bytes4 public immutable SELECTOR;

    constructor(EnclaveRegistry registry_, bytes32 policy_, uint8 minTier_, uint256 threshold_) {
        if (threshold_ < 2 || threshold_ > THRESHOLD_MAX) revert QUORUM_SIZE(threshold_, THRESHOLD_MAX);
        registry = registry_;
        policy = policy_;
        minTier = minTier_;
        threshold = threshold_;
        SELECTOR = bytes4(keccak256(abi.encode("veritrain/reexecution/1", registry_, policy_, minTier_, threshold_)));
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length != 4 + threshold * SIGNATURE_BYTES) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        address[] memory hosts = new address[](threshold);
        address last;
        for (uint256 i = 0; i < threshold; ++i) {
            bytes calldata s = seal[4 + i * SIGNATURE_BYTES:];
            address key = ecrecover(statementDigest, uint8(s[64]), bytes32(s[:32]), bytes32(s[32:64]));
            if (key == address(0)) revert SIGNATURE(key);
            if (key <= last) revert QUORUM_REPEATED(key);
            last = key;
            // One host is one voice, however many enclaves it runs.
            address host = registry.enclaveOf(key).provider;
            for (uint256 k = 0; k < i; ++k) if (hosts[k] == host) revert QUORUM_REPEATED(host);
            hosts[i] = host;
            registry.requireLive(key, policy, host, minTier);
        }
    }
}
