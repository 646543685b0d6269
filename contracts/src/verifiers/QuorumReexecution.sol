// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ISnpRegistry, SnpRegistration} from "../interfaces/ISnpRegistry.sol";
import {IStepVerifier} from "../interfaces/IStepVerifier.sol";
import {
    QUORUM_REPEATED,
    QUORUM_SIZE,
    REEXECUTION_CHIP,
    SEAL_LENGTH,
    SEAL_SELECTOR,
    SIGNATURE
} from "../Errors.sol";

/// A segment that SNP enclaves on m machines trained again with the same outcome: for duties when a step verifier refuses
/// true proofs. The seal is the selector and m signatures r ‖ s ‖ v over the statement, signers ascending.
/// contracts/SPEC.md §4.
contract QuorumReexecution is IStepVerifier {
    uint256 private constant SIGNATURE_BYTES = 65;
    uint256 private constant THRESHOLD_MAX = 32;

    ISnpRegistry public immutable registry;
    bytes32 public immutable snpPolicy; // of the auditors' enclaves
    uint256 public immutable threshold;
    /// Names all three, so that terms that list it agree to them.
    bytes4 public immutable SELECTOR;

    constructor(ISnpRegistry registry_, bytes32 snpPolicy_, uint256 threshold_) {
        if (threshold_ < 2 || threshold_ > THRESHOLD_MAX) revert QUORUM_SIZE(threshold_, THRESHOLD_MAX);
        registry = registry_;
        snpPolicy = snpPolicy_;
        threshold = threshold_;
        SELECTOR = bytes4(keccak256(abi.encode("veritrain/reexecution/2", registry_, snpPolicy_, threshold_)));
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length != 4 + threshold * SIGNATURE_BYTES) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        bytes32[] memory chips = new bytes32[](threshold);
        address last;
        for (uint256 i = 0; i < threshold; ++i) {
            bytes calldata s = seal[4 + i * SIGNATURE_BYTES:];
            address key = ecrecover(statementDigest, uint8(s[64]), bytes32(s[:32]), bytes32(s[32:64]));
            if (key == address(0)) revert SIGNATURE(key);
            if (key <= last) revert QUORUM_REPEATED(key);
            last = key;
            SnpRegistration memory r = registry.registrationOf(key, snpPolicy);
            registry.requireLive(key, snpPolicy, r.provider);
            // One machine is one voice, whatever names its owner gives it; a VLEK names no machine.
            if (r.chip == 0) revert REEXECUTION_CHIP(key);
            for (uint256 k = 0; k < i; ++k) if (chips[k] == r.chip) revert REEXECUTION_CHIP(key);
            chips[i] = r.chip;
        }
    }
}
