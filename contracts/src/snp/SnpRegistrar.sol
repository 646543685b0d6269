// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {Appraisal, EnclaveRegistry, IMeasurements} from "../EnclaveRegistry.sol";
import {
    CALLER,
    SNP_MEASUREMENT,
    SNP_NONCE,
    SNP_POLICY,
    SNP_POLICY_DEBUG_SET,
    SNP_POLICY_MIGRATION_SET,
    SNP_REPORT_DATA,
    SNP_TCB_BELOW_FLOOR,
    SNP_VMPL
} from "../Errors.sol";
import {Sha2} from "./Sha2.sol";
import {SnpClaims, SnpVerifier} from "./SnpVerifier.sol";

/// What a client demands of SNP enclaves. Its identity is keccak256(abi.encode(SnpPolicy)), so it cannot change; only
/// the list of images that its owner allows may.
struct SnpPolicy {
    address owner;
    bytes32 salt;
    bytes8[3] tcbFloors; // Milan, Genoa, Turin; in the report's byte order, each byte a least value
    uint32 validForSeconds; // after registration, before the enclave must attest again
}

/// The parts that REPORT_DATA binds: attestation's key binding of the same name.
struct SnpBinding {
    bytes32 receiptKey;
    address settlementKey;
    bytes32 transportKey;
    address provider;
    uint256 nonceBlock; // the nonce is this block's hash
    bytes32 gpuDigest;
    bytes32 claimsDigest;
}

/// Registers enclave keys on SNP evidence alone, verified here and now. Settlement §10.
contract SnpRegistrar is IMeasurements {
    uint256 private constant POLICY_MIGRATE = 1 << 18;
    uint256 private constant POLICY_DEBUG = 1 << 19;

    EnclaveRegistry public immutable registry;
    SnpVerifier public immutable verifier;

    /// By policy and keccak256 of the 48-byte launch measurement.
    mapping(bytes32 policy => mapping(bytes32 measurement => bool)) public isAllowed;

    event MeasurementSet(bytes32 indexed policy, bytes32 indexed measurement, bool allowed);

    constructor(EnclaveRegistry registry_, SnpVerifier verifier_) {
        registry = registry_;
        verifier = verifier_;
    }

    function policyId(SnpPolicy calldata policy) public pure returns (bytes32) {
        return keccak256(abi.encode(policy));
    }

    /// Disallowing an image ends all keys that were registered with it.
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
        _checkPolicy(policy, id, claims);
        _checkBinding(binding, claims);
        uint256 notAfter = block.timestamp + policy.validForSeconds;
        if (notAfter > claims.notAfter) notAfter = claims.notAfter;
        registry.registerVerified(
            Appraisal(binding.settlementKey, id, binding.provider, keccak256(report), uint40(notAfter)),
            claims.measurement
        );
    }

    function _checkPolicy(SnpPolicy calldata policy, bytes32 id, SnpClaims memory claims) private view {
        if (policy.validForSeconds == 0) revert SNP_POLICY(id);
        if (claims.guestPolicy & POLICY_DEBUG != 0) revert SNP_POLICY_DEBUG_SET();
        if (claims.guestPolicy & POLICY_MIGRATE != 0) revert SNP_POLICY_MIGRATION_SET();
        if (claims.vmpl != 0) revert SNP_VMPL(claims.vmpl);
        bytes8 floor = policy.tcbFloors[claims.product - 1];
        for (uint8 i = 0; i < 8; ++i) {
            if (claims.tcb[i] < floor[i]) revert SNP_TCB_BELOW_FLOOR(i, uint8(floor[i]), uint8(claims.tcb[i]));
        }
        if (!isAllowed[id][claims.measurement]) revert SNP_MEASUREMENT(claims.measurement);
    }

    /// REPORT_DATA = SHA-512(tag ‖ nonce ‖ SHA-256(tag ‖ keys) ‖ gpuDigest ‖ claimsDigest).
    function _checkBinding(SnpBinding calldata binding, SnpClaims memory claims) private view {
        bytes32 nonce = Blockhash.blockHash(binding.nonceBlock);
        if (nonce == 0) revert SNP_NONCE(binding.nonceBlock);
        bytes32 keys = sha256(
            abi.encodePacked(
                "veritrain/keys/v1",
                binding.receiptKey,
                binding.settlementKey,
                binding.transportKey,
                binding.provider,
                block.chainid,
                address(registry)
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
