// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// What an authentic report says; whether that is acceptable is a policy's business.
struct SnpClaims {
    uint8 product;
    bool vlek;
    uint32 guestSvn;
    uint64 guestPolicy;
    uint64 platformInfo;
    uint32 vmpl;
    bytes8 tcb;
    bytes32 measurement; // keccak256 of the 48 bytes
    bytes32 hostData;
    bytes32 idKey; // keccak256 of the digest of the ID key, 48 bytes
    bytes32 reportDataHigh;
    bytes32 reportDataLow;
    uint40 notAfter; // of the endorsement
    bytes32 chip; // these three as in SnpEndorsement
    bytes32 serial;
    bytes32 issuer;
    bytes32 id; // keccak256 of the signed bytes: another signature over them is the same report
}

/// Reports of SNP chips, and what is condemned.
interface ISnpVerifier {
    /// Reverts unless the report is authentic now.
    /// @param publicKey x ‖ y of its VCEK or VLEK, 96 bytes
    function verifyReport(bytes calldata report, bytes calldata publicKey) external view returns (SnpClaims memory);

    /// The first of chip (zero: none), serial, issuer and product that is condemned, or zero.
    function condemnedOf(bytes32 chip, bytes32 serial, bytes32 issuer, uint8 product) external view returns (bytes32);
}
