// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// What a client demands of SNP enclaves. Its identity is keccak256(abi.encode(SnpPolicy)), so it cannot change; only
/// the list of images that its owner allows may, and only for keys to come.
struct SnpPolicy {
    address owner;
    bytes32 salt;
    bytes8[3] tcbFloors; // Milan, Genoa, Turin; in the report's byte order, each byte a least value
    uint32 validForSeconds; // after registration, within which a key may be bound to jobs
    uint32 nonceBlocks; // the nonce's block is at most so old
    bool allowVlek;
    uint32 guestSvn; // a least value
    uint64 guestSet; // bits of POLICY that must be set
    uint64 guestClear; // bits that must not
    uint64 platformSet; // the same of PLATFORM_INFO
    uint64 platformClear;
    bytes32 hostData; // zero: any
    bytes32 idKey; // keccak256 of the ID key's digest; zero: any
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

/// What stays of a report: whose machine it was, and until when the key may be bound.
struct SnpRegistration {
    address provider;
    uint40 notAfter;
    uint8 product;
    bytes32 chip;
    bytes32 serial;
    bytes32 issuer;
}

/// Settlement keys by their SNP evidence. contracts/SPEC.md §10.
interface ISnpRegistry {
    function policyId(SnpPolicy calldata policy) external pure returns (bytes32);

    function isAllowed(bytes32 policy, bytes32 measurement) external view returns (bool);

    function setMeasurement(SnpPolicy calldata policy, bytes32 measurement, bool allowed) external;

    function register(
        SnpPolicy calldata policy,
        SnpBinding calldata binding,
        bytes calldata report,
        bytes calldata publicKey
    ) external;

    function registrationOf(address key, bytes32 policy) external view returns (SnpRegistration memory);

    /// Reverts with the first reason why `key` may not be bound now.
    function requireLive(address key, bytes32 policy, address provider) external view;

    /// Whether the machine behind a key was condemned; time and the list of images mean nothing here.
    function isCondemned(address key, bytes32 policy) external view returns (bool);
}
