// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {TypedData} from "./TypedData.sol";
import {Quorum} from "./Quorum.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    ENCLAVE_EXPIRED,
    ENCLAVE_POLICY,
    ENCLAVE_PROVIDER,
    ENCLAVE_REVOKED,
    ENCLAVE_TIER,
    ENCLAVE_UNKNOWN,
    EVIDENCE_USED
} from "./Errors.sol";

uint8 constant TIER_QUORUM = 1;

/// What m of n attestors say about one enclave key after appraising one piece of evidence.
struct Appraisal {
    address key;
    bytes32 policy;
    address provider;
    bytes32 evidence; // digest; registers one key only
    uint40 notAfter;
}

/// Which settlement keys live inside attested enclaves. Settlement §10.
contract EnclaveRegistry is Quorum, TypedData {
    struct Enclave {
        bytes32 policy;
        address provider;
        uint40 notAfter;
        uint8 tier;
        bool revoked;
    }

    mapping(address key => Enclave) private _enclaves;
    mapping(bytes32 evidence => address key) public keyOfEvidence;

    event EnclaveRegistered(
        address indexed key,
        bytes32 indexed policy,
        address indexed provider,
        bytes32 evidence,
        uint40 notAfter,
        uint8 tier
    );
    event EnclaveRevoked(address indexed key, bytes32 reason);

    constructor(address governor_, address[] memory attestors, uint16 threshold_)
        Quorum(governor_, attestors, threshold_)
        TypedData("EnclaveRegistry")
    {}

    /// Anyone may bring the signatures. A key that is registered again keeps its policy and provider.
    function register(Appraisal calldata a, bytes[] calldata signatures) external {
        _requireQuorum(
            _typedDigest(Statements.appraisal(a.key, a.policy, a.provider, a.evidence, a.notAfter)), signatures
        );
        _register(a, TIER_QUORUM);
    }

    function revoke(address key, bytes32 reason, bytes[] calldata signatures) external {
        _requireQuorum(_typedDigest(Statements.revocation(key, reason)), signatures);
        if (_enclaves[key].revoked) revert ENCLAVE_REVOKED(key);
        _enclaves[key].revoked = true;
        emit EnclaveRevoked(key, reason);
    }

    function enclaveOf(address key) external view returns (Enclave memory) {
        return _enclaves[key];
    }

    /// Reverts with the first reason why `key` may not seal for this policy and provider; returns its tier.
    function requireLive(address key, bytes32 policy, address provider, uint8 minTier)
        public
        view
        returns (uint8 tier)
    {
        Enclave storage e = _enclaves[key];
        tier = e.tier;
        if (tier == 0) revert ENCLAVE_UNKNOWN(key);
        if (e.revoked) revert ENCLAVE_REVOKED(key);
        if (block.timestamp > e.notAfter) revert ENCLAVE_EXPIRED(key, e.notAfter);
        if (e.policy != policy) revert ENCLAVE_POLICY(policy, e.policy);
        if (e.provider != provider) revert ENCLAVE_PROVIDER(provider, e.provider);
        if (tier < minTier) revert ENCLAVE_TIER(minTier, tier);
    }

    /// For statements of other contracts that attestors sign in this registry's domain.
    function requireQuorum(bytes32 structHash, bytes[] calldata signatures) external view {
        _requireQuorum(_typedDigest(structHash), signatures);
    }

    function _register(Appraisal calldata a, uint8 tier) private {
        if (a.key == address(0)) revert ENCLAVE_UNKNOWN(a.key);
        if (block.timestamp > a.notAfter) revert ENCLAVE_EXPIRED(a.key, a.notAfter);
        if (keyOfEvidence[a.evidence] != address(0)) revert EVIDENCE_USED(a.evidence);
        Enclave storage e = _enclaves[a.key];
        if (e.revoked) revert ENCLAVE_REVOKED(a.key);
        if (e.tier != 0) {
            if (e.policy != a.policy) revert ENCLAVE_POLICY(e.policy, a.policy);
            if (e.provider != a.provider) revert ENCLAVE_PROVIDER(e.provider, a.provider);
        }
        keyOfEvidence[a.evidence] = a.key;
        _enclaves[a.key] = Enclave(a.policy, a.provider, a.notAfter, tier, false);
        emit EnclaveRegistered(a.key, a.policy, a.provider, a.evidence, a.notAfter, tier);
    }
}
