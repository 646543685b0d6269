// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IRoles} from "../src/interfaces/IRoles.sol";
import {Sha2} from "../src/snp/Sha2.sol";
import {SnpCertificates, SnpIssuer} from "../src/snp/SnpCertificates.sol";
import {SnpBinding} from "../src/interfaces/ISnpRegistry.sol";
import {SnpClaims} from "../src/interfaces/ISnpVerifier.sol";

/// Simulated: says of a report what the test told it. Condemnation is the real one; reports are verified for real in
/// snp.test.ts.
contract TestSnpVerifier is SnpCertificates {
    mapping(bytes32 report => SnpClaims) private _claims;

    constructor(IRoles roles_) SnpCertificates(roles_, new SnpIssuer[](0)) {}

    function tell(bytes calldata report, SnpClaims calldata claims) external {
        _claims[keccak256(report)] = claims;
    }

    function verifyReport(bytes calldata report, bytes calldata) external view returns (SnpClaims memory) {
        return _claims[keccak256(report)];
    }

    /// REPORT_DATA of the binding, as the enclave makes it.
    function dataOf(SnpBinding calldata b, address registry, bytes32 nonce)
        external
        view
        returns (bytes32 high, bytes32 low)
    {
        bytes32 keys = sha256(
            abi.encodePacked(
                "veritrain/keys/v1", b.receiptKey, b.settlementKey, b.transportKey, b.provider, block.chainid, registry
            )
        );
        bytes memory data =
            Sha2.sha512(abi.encodePacked("veritrain/cpu/v1", nonce, keys, b.gpuDigest, b.claimsDigest));
        assembly ("memory-safe") {
            high := mload(add(data, 0x20))
            low := mload(add(data, 0x40))
        }
    }
}
