// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {
    CALLER,
    EVIDENCE_USED,
    SNP_EXPIRED,
    SNP_GUEST_POLICY,
    SNP_GUEST_SVN,
    SNP_HOST_DATA,
    SNP_ID_KEY,
    SNP_MEASUREMENT,
    SNP_NONCE,
    SNP_PLATFORM_INFO,
    SNP_POLICY,
    SNP_POLICY_DEBUG_SET,
    SNP_POLICY_MIGRATION_SET,
    SNP_PROVIDER,
    SNP_REPORT_DATA,
    SNP_REVOKED,
    SNP_TCB_BELOW_FLOOR,
    SNP_UNKNOWN,
    SNP_VLEK,
    SNP_VMPL
} from "../Errors.sol";
import {Sha2} from "./Sha2.sol";
import {ISnpRegistry, SnpBinding, SnpPolicy, SnpRegistration} from "../interfaces/ISnpRegistry.sol";
import {ISnpVerifier, SnpClaims} from "../interfaces/ISnpVerifier.sol";

/// Settlement keys of enclaves by their SNP evidence, verified here and now, and kept by (key, policy): what a stranger
/// registers under a policy of his own concerns nobody else. contracts/SPEC.md §10.
contract SnpRegistry is ISnpRegistry {
    uint256 private constant POLICY_MIGRATE = 1 << 18;
    uint256 private constant POLICY_DEBUG = 1 << 19;

    ISnpVerifier public immutable verifier;

    /// By policy and keccak256 of the 48-byte launch measurement.
    mapping(bytes32 policy => mapping(bytes32 measurement => bool)) public isAllowed;
    /// One report registers one key, once under each policy.
    mapping(bytes32 policy => mapping(bytes32 report => bool)) public isUsed;
    mapping(address key => mapping(bytes32 policy => SnpRegistration)) private _registrations;

    event MeasurementSet(bytes32 indexed policy, bytes32 indexed measurement, bool allowed);
    event SnpRegistered(
        address indexed key,
        bytes32 indexed policy,
        address indexed provider,
        bytes32 report,
        bytes32 chip,
        uint40 notAfter
    );

    constructor(ISnpVerifier verifier_) {
        verifier = verifier_;
    }

    function policyId(SnpPolicy calldata policy) public pure returns (bytes32) {
        return keccak256(abi.encode(policy));
    }

    /// Disallowing an image ends new registrations; a key that is bound to a job stays.
    function setMeasurement(SnpPolicy calldata policy, bytes32 measurement, bool allowed) external {
        if (msg.sender != policy.owner) revert CALLER(policy.owner, msg.sender);
        bytes32 id = policyId(policy);
        isAllowed[id][measurement] = allowed;
        emit MeasurementSet(id, measurement, allowed);
    }

    /// @param report    SEV-SNP attestation report, 1184 bytes
    /// @param publicKey of its VCEK or VLEK, added to the verifier before, 96 bytes
    function register(
        SnpPolicy calldata policy,
        SnpBinding calldata binding,
        bytes calldata report,
        bytes calldata publicKey
    ) external {
        SnpClaims memory claims = verifier.verifyReport(report, publicKey);
        bytes32 id = policyId(policy);
        if (isUsed[id][claims.id]) revert EVIDENCE_USED(claims.id);
        isUsed[id][claims.id] = true;
        _checkPolicy(policy, id, claims);
        _checkBinding(policy, binding, claims);
        uint256 notAfter = block.timestamp + policy.validForSeconds;
        if (notAfter > claims.notAfter) notAfter = claims.notAfter;
        _registrations[binding.settlementKey][id] = SnpRegistration(
            binding.provider, uint40(notAfter), claims.product, claims.chip, claims.serial, claims.issuer
        );
        emit SnpRegistered(
            binding.settlementKey, id, binding.provider, claims.id, claims.chip, uint40(notAfter)
        );
    }

    function registrationOf(address key, bytes32 policy) external view returns (SnpRegistration memory) {
        return _registrations[key][policy];
    }

    /// @inheritdoc ISnpRegistry
    function requireLive(address key, bytes32 policy, address provider) external view {
        SnpRegistration memory r = _registrations[key][policy];
        if (r.product == 0) revert SNP_UNKNOWN(key, policy);
        if (r.provider != provider) revert SNP_PROVIDER(provider, r.provider);
        if (block.timestamp > r.notAfter) revert SNP_EXPIRED(key, r.notAfter);
        bytes32 what = verifier.condemnedOf(r.chip, r.serial, r.issuer, r.product);
        if (what != 0) revert SNP_REVOKED(what);
    }

    /// @inheritdoc ISnpRegistry
    function isCondemned(address key, bytes32 policy) external view returns (bool) {
        SnpRegistration memory r = _registrations[key][policy];
        return verifier.condemnedOf(r.chip, r.serial, r.issuer, r.product) != 0;
    }

    function _checkPolicy(SnpPolicy calldata policy, bytes32 id, SnpClaims memory claims) private view {
        if (policy.validForSeconds == 0 || policy.nonceBlocks == 0) revert SNP_POLICY(id);
        if (claims.vlek && !policy.allowVlek) revert SNP_VLEK();
        if (claims.guestPolicy & POLICY_DEBUG != 0) revert SNP_POLICY_DEBUG_SET();
        if (claims.guestPolicy & POLICY_MIGRATE != 0) revert SNP_POLICY_MIGRATION_SET();
        uint64 guest = claims.guestPolicy;
        if (guest & policy.guestSet != policy.guestSet || guest & policy.guestClear != 0) {
            revert SNP_GUEST_POLICY(guest);
        }
        uint64 platform = claims.platformInfo;
        if (platform & policy.platformSet != policy.platformSet || platform & policy.platformClear != 0) {
            revert SNP_PLATFORM_INFO(platform);
        }
        if (claims.vmpl != 0) revert SNP_VMPL(claims.vmpl);
        if (claims.guestSvn < policy.guestSvn) revert SNP_GUEST_SVN(policy.guestSvn, claims.guestSvn);
        if (policy.hostData != 0 && claims.hostData != policy.hostData) revert SNP_HOST_DATA(claims.hostData);
        if (policy.idKey != 0 && claims.idKey != policy.idKey) revert SNP_ID_KEY(claims.idKey);
        bytes8 floor = policy.tcbFloors[claims.product - 1];
        for (uint8 i = 0; i < 8; ++i) {
            if (claims.tcb[i] < floor[i]) revert SNP_TCB_BELOW_FLOOR(i, uint8(floor[i]), uint8(claims.tcb[i]));
        }
        if (!isAllowed[id][claims.measurement]) revert SNP_MEASUREMENT(claims.measurement);
    }

    /// REPORT_DATA = SHA-512(tag ‖ nonce ‖ SHA-256(tag ‖ keys) ‖ gpuDigest ‖ claimsDigest).
    function _checkBinding(SnpPolicy calldata policy, SnpBinding calldata binding, SnpClaims memory claims)
        private
        view
    {
        uint256 number = binding.nonceBlock;
        bytes32 nonce = Blockhash.blockHash(number);
        if (nonce == 0 || block.number > number + policy.nonceBlocks) revert SNP_NONCE(number);
        bytes32 keys = sha256(
            abi.encodePacked(
                "veritrain/keys/v1",
                binding.receiptKey,
                binding.settlementKey,
                binding.transportKey,
                binding.provider,
                block.chainid,
                address(this)
            )
        );
        bytes memory expected = Sha2.sha512(
            abi.encodePacked("veritrain/cpu/v1", nonce, keys, binding.gpuDigest, binding.claimsDigest)
        );
        bytes32 high;
        bytes32 low;
        assembly ("memory-safe") {
            high := mload(add(expected, 0x20))
            low := mload(add(expected, 0x40))
        }
        if (high != claims.reportDataHigh || low != claims.reportDataLow) revert SNP_REPORT_DATA();
    }
}
