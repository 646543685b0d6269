// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {TypedData} from "./TypedData.sol";
import {Quorum} from "./Quorum.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    CALLER,
    ENCLAVE_EXPIRED,
    ENCLAVE_MEASUREMENT,
    ENCLAVE_POLICY,
    ENCLAVE_PROVIDER,
    ENCLAVE_REVOKED,
    ENCLAVE_TIER,
    ENCLAVE_UNKNOWN,
    EVIDENCE_USED
} from "./Errors.sol";

uint8 constant TIER_QUORUM = 1;
uint8 constant TIER_SNP = 2;

/// What m of n attestors, or the SNP registrar, say about one enclave key after appraising one piece of evidence.
struct Appraisal {
    address key;
    bytes32 policy;
    address provider;
    bytes32 evidence; // digest; registers one key only
    uint40 notAfter;
}

/// Says whether an image that was allowed when a key was registered still is.
interface IMeasurements {
    function isAllowed(bytes32 policy, bytes32 measurement) external view returns (bool);
}

/// Which settlement keys live inside attested enclaves. Tiers: 1 quorum, 2 SNP verified on chain, 3 both. Settlement §10.
contract EnclaveRegistry is Quorum, TypedData {
    struct Enclave {
        bytes32 policy;
        address provider;
        uint40 quorumUntil;
        uint40 snpUntil;
        bool revoked;
        bytes32 measurement; // of the SNP registration
    }

    /// The contract that verifies SNP evidence; set once.
    address public registrar;
    mapping(address key => Enclave) private _enclaves;
    /// One evidence digest registers one key, once in each tier.
    mapping(bytes32 evidence => address key) public keyOfEvidence;
    mapping(bytes32 report => address key) public keyOfReport;

    event EnclaveRegistered(
        address indexed key,
        bytes32 indexed policy,
        address indexed provider,
        bytes32 evidence,
        uint40 notAfter,
        uint8 tier
    );
    event EnclaveRevoked(address indexed key, bytes32 reason);
    event RegistrarSet(address registrar);

    constructor(address governor_, address[] memory attestors, uint16 threshold_)
        Quorum(governor_, attestors, threshold_)
        TypedData("EnclaveRegistry")
    {}

    function setRegistrar(address registrar_) external {
        if (msg.sender != governor || registrar != address(0)) revert CALLER(governor, msg.sender);
        registrar = registrar_;
        emit RegistrarSet(registrar_);
    }

    /// Anyone may bring the signatures. A key that is registered again keeps its policy and provider.
    function register(Appraisal calldata a, bytes[] calldata signatures) external {
        _requireQuorum(
            _typedDigest(Statements.appraisal(a.key, a.policy, a.provider, a.evidence, a.notAfter)), signatures
        );
        if (keyOfEvidence[a.evidence] != address(0)) revert EVIDENCE_USED(a.evidence);
        keyOfEvidence[a.evidence] = a.key;
        _bind(a).quorumUntil = a.notAfter;
        emit EnclaveRegistered(a.key, a.policy, a.provider, a.evidence, a.notAfter, TIER_QUORUM);
    }

    /// After full verification on chain.
    function registerVerified(Appraisal calldata a, bytes32 measurement) external {
        if (msg.sender != registrar) revert CALLER(registrar, msg.sender);
        if (keyOfReport[a.evidence] != address(0)) revert EVIDENCE_USED(a.evidence);
        keyOfReport[a.evidence] = a.key;
        Enclave storage e = _bind(a);
        e.snpUntil = a.notAfter;
        e.measurement = measurement;
        emit EnclaveRegistered(a.key, a.policy, a.provider, a.evidence, a.notAfter, TIER_SNP);
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
        (address holder, uint40 quorumUntil, uint40 snpUntil, bool revoked) =
            (e.provider, e.quorumUntil, e.snpUntil, e.revoked);
        if (quorumUntil | snpUntil == 0) revert ENCLAVE_UNKNOWN(key);
        if (revoked) revert ENCLAVE_REVOKED(key);
        if (block.timestamp <= quorumUntil) tier |= TIER_QUORUM;
        if (block.timestamp <= snpUntil) tier |= TIER_SNP;
        if (tier == 0) revert ENCLAVE_EXPIRED(key, quorumUntil > snpUntil ? quorumUntil : snpUntil);
        if (e.policy != policy) revert ENCLAVE_POLICY(policy, e.policy);
        if (holder != provider) revert ENCLAVE_PROVIDER(provider, holder);
        if (tier < minTier) revert ENCLAVE_TIER(minTier, tier);
        if (tier & TIER_SNP != 0 && !IMeasurements(registrar).isAllowed(policy, e.measurement)) {
            revert ENCLAVE_MEASUREMENT(policy, e.measurement);
        }
    }

    /// For statements of other contracts that attestors sign in this registry's domain.
    function requireQuorum(bytes32 structHash, bytes[] calldata signatures) external view {
        _requireQuorum(_typedDigest(structHash), signatures);
    }

    function _bind(Appraisal calldata a) private returns (Enclave storage e) {
        if (a.key == address(0)) revert ENCLAVE_UNKNOWN(a.key);
        if (block.timestamp > a.notAfter) revert ENCLAVE_EXPIRED(a.key, a.notAfter);
        e = _enclaves[a.key];
        if (e.revoked) revert ENCLAVE_REVOKED(a.key);
        if (e.quorumUntil | e.snpUntil == 0) {
            e.policy = a.policy;
            e.provider = a.provider;
        } else {
            if (e.policy != a.policy) revert ENCLAVE_POLICY(e.policy, a.policy);
            if (e.provider != a.provider) revert ENCLAVE_PROVIDER(e.provider, a.provider);
        }
    }
}
