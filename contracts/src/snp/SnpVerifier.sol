// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {
    SNP_CERTIFICATE_TCB,
    SNP_CHIP_ID,
    SNP_ENDORSEMENT_KIND,
    SNP_ENDORSEMENT_MISSING,
    SNP_PRODUCT,
    SNP_REPORT_SIGNATURE,
    SNP_REPORT_SIGNATURE_ALGO,
    SNP_REPORT_SIGNATURE_PADDING,
    SNP_REPORT_SIZE,
    SNP_REPORT_RESERVED,
    SNP_REPORT_VERSION,
    SNP_VALIDITY
} from "../Errors.sol";
import {IRoles} from "../interfaces/IRoles.sol";
import {SnpClaims} from "../interfaces/ISnpVerifier.sol";
import {P384} from "./P384.sol";
import {Sha2} from "./Sha2.sol";
import {PRODUCT_GENOA, PRODUCT_MILAN, PRODUCT_TURIN, SnpCertificates, SnpEndorsement, SnpIssuer} from "./SnpCertificates.sol";

/// SEV-SNP reports (AMD 56860, ATTESTATION_REPORT) under certificates that were added before. contracts/SPEC.md §10.
contract SnpVerifier is SnpCertificates {
    uint256 private constant REPORT_BYTES = 0x4a0;
    uint256 private constant SIGNED_BYTES = 0x2a0;

    P384 public immutable p384;

    constructor(IRoles roles_, SnpIssuer[] memory issuers_, P384 p384_) SnpCertificates(roles_, issuers_) {
        p384 = p384_;
    }

    /// Reverts unless the report is authentic now.
    /// @param publicKey x ‖ y of its VCEK or VLEK, 96 bytes
    function verifyReport(bytes calldata report, bytes calldata publicKey)
        external
        view
        returns (SnpClaims memory claims)
    {
        if (report.length != REPORT_BYTES) revert SNP_REPORT_SIZE(report.length);
        SnpEndorsement memory e = endorsementOf(keccak256(publicKey));
        if (e.product == 0) revert SNP_ENDORSEMENT_MISSING(keccak256(publicKey));
        if (block.timestamp < e.notBefore || block.timestamp > e.notAfter) {
            revert SNP_VALIDITY(e.notBefore, e.notAfter);
        }
        _requireGood(e);
        _checkFields(report, e);
        _checkSignature(report, publicKey);
        claims.product = e.product;
        claims.vlek = e.vlek;
        claims.guestPolicy = uint64(_le(report, 0x008, 8));
        claims.guestSvn = uint32(_le(report, 0x004, 4));
        claims.platformInfo = uint64(_le(report, 0x040, 8));
        claims.vmpl = uint32(_le(report, 0x030, 4));
        claims.tcb = e.tcb;
        claims.measurement = keccak256(report[0x090:0x0c0]);
        claims.reportDataHigh = bytes32(report[0x050:0x070]);
        claims.reportDataLow = bytes32(report[0x070:0x090]);
        claims.hostData = bytes32(report[0x0c0:0x0e0]);
        claims.idKey = keccak256(report[0x0e0:0x110]);
        claims.notAfter = e.notAfter;
        (claims.chip, claims.serial, claims.issuer) = (e.chip, e.serial, e.issuer);
        claims.id = keccak256(report[:SIGNED_BYTES]);
    }

    function _checkFields(bytes calldata report, SnpEndorsement memory e) private pure {
        uint256 version = _le(report, 0, 4);
        if (version < 2 || version > 5) revert SNP_REPORT_VERSION(version);
        if (_le(report, 0x034, 4) != 1) revert SNP_REPORT_SIGNATURE_ALGO(_le(report, 0x034, 4));
        // FLAGS bits 2–4: 0 VCEK, 1 VLEK.
        if ((_le(report, 0x048, 4) >> 2) & 7 != (e.vlek ? 1 : 0)) revert SNP_ENDORSEMENT_KIND(e.vlek);
        if (version >= 3) {
            uint256 family = uint8(report[0x188]);
            uint256 model = uint8(report[0x189]);
            if (_productOf(family, model) != e.product) revert SNP_PRODUCT(e.product, family, model);
        }
        if (bytes8(report[0x180:0x188]) != e.tcb) revert SNP_CERTIFICATE_TCB(e.tcb, bytes8(report[0x180:0x188]));
        // A masked chip id could be any chip's: a VLEK report must carry zeros, a VCEK report its chip.
        bytes32 chip = e.vlek ? keccak256(new bytes(64)) : e.chip;
        if (keccak256(report[0x1a0:0x1e0]) != chip) revert SNP_CHIP_ID();
    }

    function _checkSignature(bytes calldata report, bytes calldata publicKey) private view {
        bytes memory signature = new bytes(96);
        uint256 padding;
        for (uint256 i = 0; i < 72; ++i) {
            bytes1 r = report[SIGNED_BYTES + i];
            bytes1 s = report[SIGNED_BYTES + 72 + i];
            if (i < 48) {
                signature[47 - i] = r;
                signature[95 - i] = s;
            } else {
                padding |= uint8(r) | uint8(s);
            }
        }
        if (padding != 0) revert SNP_REPORT_SIGNATURE_PADDING();
        // What follows r and s is not signed.
        for (uint256 i = SIGNED_BYTES + 144; i < REPORT_BYTES; ++i) if (report[i] != 0) revert SNP_REPORT_RESERVED(i);
        if (!p384.verify(Sha2.sha384(report[:SIGNED_BYTES]), signature, publicKey)) revert SNP_REPORT_SIGNATURE();
    }

    /// AMD 57230: CPUID family and models by root of trust.
    function _productOf(uint256 family, uint256 model) private pure returns (uint8) {
        if (family == 0x19 && model <= 0x0f) return PRODUCT_MILAN;
        if (family == 0x19 && (model <= 0x1f || (model >= 0xa0 && model <= 0xaf))) return PRODUCT_GENOA;
        if (family == 0x1a && model <= 0x11) return PRODUCT_TURIN;
        return 0;
    }

    function _le(bytes calldata data, uint256 pos, uint256 size) private pure returns (uint256 value) {
        for (uint256 i = size; i != 0; --i) value = (value << 8) | uint8(data[pos + i - 1]);
    }
}
