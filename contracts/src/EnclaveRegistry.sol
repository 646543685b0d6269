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
    /// What `enclaveOf` tells.
    struct Enclave {
        bytes32 policy;
        address provider;
        uint40 quorumUntil;
        uint40 snpUntil;
        bool revoked;
        bytes32 measurement; // of the SNP registration
    }

    /// One word. A key that has a policy but no end is revoked. Ends after the year 2106 count as 2106.
    struct Registration {
        address provider;
        uint32 quorumUntil;
        uint32 snpUntil;
        uint32 policy; // its place in _policies, from 1
    }

    /// The contract that verifies SNP evidence; set once.
    address public registrar;
    bytes32[] private _policies;
    mapping(bytes32 policy => uint32) private _placeOf;
    mapping(address key => Registration) private _registrations;
    mapping(address key => bytes32) private _measurements;
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
        Registration memory r = _bind(a);
        r.quorumUntil = _time(a.notAfter);
        _registrations[a.key] = r;
        emit EnclaveRegistered(a.key, a.policy, a.provider, a.evidence, a.notAfter, TIER_QUORUM);
    }

    /// After full verification on chain.
    function registerVerified(Appraisal calldata a, bytes32 measurement) external {
        if (msg.sender != registrar) revert CALLER(registrar, msg.sender);
        if (keyOfReport[a.evidence] != address(0)) revert EVIDENCE_USED(a.evidence);
        keyOfReport[a.evidence] = a.key;
        Registration memory r = _bind(a);
        r.snpUntil = _time(a.notAfter);
        _registrations[a.key] = r;
        _measurements[a.key] = measurement;
        emit EnclaveRegistered(a.key, a.policy, a.provider, a.evidence, a.notAfter, TIER_SNP);
    }

    function revoke(address key, bytes32 reason, bytes[] calldata signatures) external {
        _requireQuorum(_typedDigest(Statements.revocation(key, reason)), signatures);
        Registration storage r = _registrations[key];
        if (r.policy == 0) {
            // Known from here on, under a policy that no job names.
            r.policy = _place(0);
        } else if (r.quorumUntil | r.snpUntil == 0) {
            revert ENCLAVE_REVOKED(key);
        }
        (r.quorumUntil, r.snpUntil) = (0, 0);
        emit EnclaveRevoked(key, reason);
    }

    function enclaveOf(address key) external view returns (Enclave memory e) {
        Registration memory r = _registrations[key];
        if (r.policy == 0) return e;
        bool revoked = r.quorumUntil | r.snpUntil == 0;
        return Enclave(
            _policies[r.policy - 1], r.provider, r.quorumUntil, r.snpUntil, revoked, _measurements[key]
        );
    }

    /// Reverts with the first reason why `key` may not seal for this policy and provider; returns its tier.
    function requireLive(address key, bytes32 policy, address provider, uint8 minTier)
        public
        view
        returns (uint8 tier)
    {
        Registration memory r = _registrations[key];
        if (r.policy == 0) revert ENCLAVE_UNKNOWN(key);
        if (r.quorumUntil | r.snpUntil == 0) revert ENCLAVE_REVOKED(key);
        if (block.timestamp <= r.quorumUntil) tier |= TIER_QUORUM;
        if (block.timestamp <= r.snpUntil) tier |= TIER_SNP;
        if (tier == 0) revert ENCLAVE_EXPIRED(key, r.quorumUntil > r.snpUntil ? r.quorumUntil : r.snpUntil);
        if (r.policy != _placeOf[policy]) revert ENCLAVE_POLICY(policy, _policies[r.policy - 1]);
        if (r.provider != provider) revert ENCLAVE_PROVIDER(provider, r.provider);
        if (tier < minTier) revert ENCLAVE_TIER(minTier, tier);
        if (tier & TIER_SNP != 0) {
            bytes32 measurement = _measurements[key];
            if (!IMeasurements(registrar).isAllowed(policy, measurement)) {
                revert ENCLAVE_MEASUREMENT(policy, measurement);
            }
        }
    }

    /// For statements of other contracts that attestors sign in this registry's domain.
    function requireQuorum(bytes32 structHash, bytes[] calldata signatures) external view {
        _requireQuorum(_typedDigest(structHash), signatures);
    }

    function _bind(Appraisal calldata a) private returns (Registration memory r) {
        if (a.key == address(0)) revert ENCLAVE_UNKNOWN(a.key);
        if (block.timestamp > a.notAfter) revert ENCLAVE_EXPIRED(a.key, a.notAfter);
        r = _registrations[a.key];
        if (r.policy == 0) {
            r.policy = _place(a.policy);
            r.provider = a.provider;
            return r;
        }
        if (r.quorumUntil | r.snpUntil == 0) revert ENCLAVE_REVOKED(a.key);
        bytes32 policy = _policies[r.policy - 1];
        if (policy != a.policy) revert ENCLAVE_POLICY(policy, a.policy);
        if (r.provider != a.provider) revert ENCLAVE_PROVIDER(r.provider, a.provider);
    }

    /// Policies are numbered as they come, so that a registration fits one word.
    function _place(bytes32 policy) private returns (uint32 place) {
        place = _placeOf[policy];
        if (place == 0) {
            _policies.push(policy);
            place = uint32(_policies.length);
            _placeOf[policy] = place;
        }
    }

    function _time(uint40 at_) private pure returns (uint32) {
        return at_ > type(uint32).max ? type(uint32).max : uint32(at_);
    }
}
