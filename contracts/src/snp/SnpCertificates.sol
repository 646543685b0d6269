// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IRoles, Role} from "../interfaces/IRoles.sol";
import {
    SNP_CERTIFICATES,
    SNP_CERTIFICATE_SIGNATURE,
    SNP_CHAIN,
    SNP_LEAF_EXTENSIONS,
    SNP_REVOKED,
    SNP_VALIDITY
} from "../Errors.sol";
import {Der} from "./Der.sol";
import {RsaPss} from "./RsaPss.sol";
import {Sha2} from "./Sha2.sol";

uint8 constant PRODUCT_MILAN = 1;
uint8 constant PRODUCT_GENOA = 2; // also Bergamo and Siena
uint8 constant PRODUCT_TURIN = 3;

/// One intermediate key of AMD (ASK or ASVK), pinned by the hash of its 4096-bit modulus.
struct SnpIssuer {
    bytes32 modulusHash;
    uint8 product;
    bool vlek;
}

/// What stays of a VCEK or VLEK certificate once its signature was checked.
struct SnpEndorsement {
    uint8 product;
    bool vlek;
    uint40 notBefore;
    uint40 notAfter;
    bytes8 tcb; // in the report's byte order for the product
    bytes32 chip; // keccak256 of the hwID padded to 64 bytes; zero for a VLEK
    bytes32 serial; // keccak256(issuer's modulus hash ‖ serial number content)
    bytes32 issuer; // keccak256 of its modulus
}

/// Certificates of AMD's signing keys, each verified once per chip and TCB and kept by public key.
/// contracts/SPEC.md §10.
contract SnpCertificates {
    bytes32 private constant AMD_OID = hex"2b060104019c7801"; // 1.3.6.1.4.1.3704.1
    uint256 private constant AMD_MASK = type(uint256).max << 192;
    // SubjectPublicKeyInfo of a P-384 key up to and with the 0x04 of the uncompressed point.
    bytes24 private constant SPKI = hex"3076301006072a8648ce3d020106052b8104002203620004";
    uint256 private constant SPKI_BYTES = 120;
    uint256 private constant SIGNATURE_BYTES = 512;

    IRoles public immutable roles; // the revoker reads CRLs and advisories and enters what they list

    mapping(bytes32 modulusHash => SnpIssuer) public issuers;
    mapping(bytes32 publicKey => SnpEndorsement) private _endorsements;
    /// Chips, serial numbers and issuers, as SnpEndorsement names them, and products by their number: never hashes of
    /// certificate bytes, which are malleable.
    mapping(bytes32 what => bool) public revoked;

    event CertificateAdded(bytes32 indexed publicKey, uint8 product, bool vlek, bytes8 tcb, bytes32 chip, bytes32 serial);
    event SnpCondemned(bytes32 indexed what, bytes32 reason);

    constructor(IRoles roles_, SnpIssuer[] memory issuers_) {
        roles = roles_;
        for (uint256 i = 0; i < issuers_.length; ++i) issuers[issuers_[i].modulusHash] = issuers_[i];
    }

    /// Final. Ends all keys that rest on it: registrations that are there, and any to come.
    function condemn(bytes32 what, bytes32 reason) external {
        roles.requireRole(Role.Revoker, msg.sender);
        revoked[what] = true;
        emit SnpCondemned(what, reason);
    }

    /// The name under which a product is condemned.
    function productName(uint8 product) public pure returns (bytes32) {
        return bytes32(uint256(product));
    }

    /// The first of chip (zero: none), serial, issuer and product that is condemned, or zero.
    function condemnedOf(bytes32 chip, bytes32 serial, bytes32 issuer, uint8 product) public view returns (bytes32) {
        if (chip != 0 && revoked[chip]) return chip;
        if (revoked[serial]) return serial;
        if (revoked[issuer]) return issuer;
        return revoked[productName(product)] ? productName(product) : bytes32(0);
    }

    /// Reverts with what is condemned of it.
    function _requireGood(SnpEndorsement memory e) internal view {
        bytes32 what = condemnedOf(e.chip, e.serial, e.issuer, e.product);
        if (what != 0) revert SNP_REVOKED(what);
    }

    function endorsementOf(bytes32 publicKey) public view returns (SnpEndorsement memory) {
        return _endorsements[publicKey];
    }

    /// @param der     VCEK or VLEK certificate
    /// @param modulus of the ASK or ASVK that signed it, 512 bytes
    /// @return publicKey keccak256(x ‖ y)
    function addCertificate(bytes calldata der, bytes calldata modulus) external returns (bytes32 publicKey) {
        SnpIssuer memory issuer = issuers[keccak256(modulus)];
        if (issuer.product == 0) revert SNP_CHAIN(keccak256(modulus));
        (uint256 from, uint256 to) = Der.expect(der, 0, der.length, Der.SEQUENCE);
        if (to != der.length) revert SNP_CERTIFICATES(to);
        (uint256 tbs, uint256 tbsEnd) = Der.expect(der, from, to, Der.SEQUENCE);
        uint256 algorithmEnd = _checkSignature(der, from, tbsEnd, to, modulus);
        SnpEndorsement memory e;
        e.product = issuer.product;
        e.vlek = issuer.vlek;
        e.serial = issuer.modulusHash;
        e.issuer = issuer.modulusHash;
        publicKey = _readTbs(der, tbs, tbsEnd, keccak256(der[tbsEnd:algorithmEnd]), e);
        _requireGood(e);
        _endorsements[publicKey] = e;
        emit CertificateAdded(publicKey, e.product, e.vlek, e.tcb, e.chip, e.serial);
    }

    function _checkSignature(bytes calldata der, uint256 tbs, uint256 tbsEnd, uint256 end, bytes calldata modulus)
        private
        view
        returns (uint256 algorithmEnd)
    {
        (, algorithmEnd) = Der.expect(der, tbsEnd, end, Der.SEQUENCE);
        (uint256 bits, uint256 bitsEnd) = Der.expect(der, algorithmEnd, end, Der.BIT_STRING);
        if (bitsEnd != end || bitsEnd - bits != SIGNATURE_BYTES + 1 || der[bits] != 0) revert SNP_CERTIFICATES(bits);
        // The algorithm is fixed by the issuer; that the certificate names the same twice is checked by _readTbs.
        if (!RsaPss.verify(Sha2.sha384(der[tbs:tbsEnd]), der[bits + 1:bitsEnd], modulus)) {
            revert SNP_CERTIFICATE_SIGNATURE();
        }
    }

    /// version, serial, algorithm, issuer, validity, subject, key, extensions: RFC 5280 §4.1.
    function _readTbs(bytes calldata der, uint256 pos, uint256 end, bytes32 algorithm, SnpEndorsement memory e)
        private
        view
        returns (bytes32 publicKey)
    {
        uint256 from;
        uint256 to;
        (, pos) = Der.expect(der, pos, end, 0xa0);
        (from, pos) = Der.expect(der, pos, end, Der.INTEGER);
        e.serial = keccak256(abi.encodePacked(e.serial, der[from:pos]));
        from = pos;
        (, pos) = Der.expect(der, pos, end, Der.SEQUENCE);
        if (keccak256(der[from:pos]) != algorithm) revert SNP_CERTIFICATES(from);
        (, pos) = Der.expect(der, pos, end, Der.SEQUENCE);
        (from, to) = Der.expect(der, pos, end, Der.SEQUENCE);
        _readValidity(der, from, to, e);
        (, pos) = Der.expect(der, to, end, Der.SEQUENCE);
        if (pos + SPKI_BYTES > end || bytes24(der[pos:pos + 24]) != SPKI) revert SNP_CERTIFICATES(pos);
        publicKey = keccak256(der[pos + 24:pos + SPKI_BYTES]);
        (from, to) = Der.expect(der, pos + SPKI_BYTES, end, Der.EXTENSIONS);
        if (to != end) revert SNP_CERTIFICATES(to);
        (from, to) = Der.expect(der, from, to, Der.SEQUENCE);
        _readExtensions(der, from, to, e);
    }

    function _readValidity(bytes calldata der, uint256 from, uint256 to, SnpEndorsement memory e) private view {
        uint256 notBefore;
        uint256 notAfter;
        (notBefore, from) = Der.time(der, from, to);
        (notAfter, from) = Der.time(der, from, to);
        if (from != to) revert SNP_CERTIFICATES(from);
        if (block.timestamp < notBefore || block.timestamp > notAfter) revert SNP_VALIDITY(notBefore, notAfter);
        e.notBefore = uint40(notBefore);
        e.notAfter = uint40(notAfter);
    }

    /// AMD 57230: TCB components under .3.N, hwID .4, CSP id .5. Each known one once; no unknown critical one.
    function _readExtensions(bytes calldata der, uint256 pos, uint256 end, SnpEndorsement memory e) private pure {
        uint256 seen;
        while (pos < end) {
            (uint256 from, uint256 to) = Der.expect(der, pos, end, Der.SEQUENCE);
            pos = to;
            uint256 critical;
            (uint256 oid, uint256 oidEnd) = Der.expect(der, from, to, Der.OID);
            from = oidEnd;
            if (from < to && uint8(der[from]) == Der.BOOLEAN) {
                (critical, from) = Der.expect(der, from, to, Der.BOOLEAN);
                critical = uint8(der[critical]);
            }
            uint256 valueEnd;
            (from, valueEnd) = Der.expect(der, from, to, Der.OCTET_STRING);
            uint256 bit = oidEnd - oid <= 32 ? _known(der, oid, oidEnd) : 0;
            if (bit == 0) {
                if (critical != 0) revert SNP_LEAF_EXTENSIONS(bytes32(der[oid:oidEnd]));
                continue;
            }
            if (seen & bit != 0) revert SNP_LEAF_EXTENSIONS(bytes32(der[oid:oidEnd]));
            seen |= bit;
            _readExtension(der, from, valueEnd, bit, e);
        }
        // structVersion, boot loader, TEE, SNP, microcode, on Turin FMC; and either hwID or CSP id.
        uint256 required = (e.product == PRODUCT_TURIN ? 0x30f : 0x10f) | (e.vlek ? 1 << 11 : 1 << 10);
        uint256 forbidden = e.vlek ? 1 << 10 : 1 << 11;
        if (seen & required != required || seen & forbidden != 0) revert SNP_LEAF_EXTENSIONS(bytes32(seen));
    }

    /// Bit 0 structVersion, bits 1–9 TCB component .3.N, bit 10 hwID, bit 11 CSP id; zero: none of ours.
    function _known(bytes calldata der, uint256 oid, uint256 oidEnd) private pure returns (uint256) {
        if (oidEnd - oid < 9 || uint256(bytes32(der[oid:oidEnd])) & AMD_MASK != uint256(AMD_OID)) return 0;
        uint8 arc = uint8(der[oid + 8]);
        if (oidEnd - oid == 9) return arc == 1 ? 1 : arc == 4 ? 1 << 10 : arc == 5 ? 1 << 11 : 0;
        uint8 component = uint8(der[oid + 9]);
        return oidEnd - oid == 10 && arc == 3 && component >= 1 && component <= 9 ? 1 << component : 0;
    }

    function _readExtension(bytes calldata der, uint256 from, uint256 to, uint256 bit, SnpEndorsement memory e)
        private
        pure
    {
        if (bit == 1 << 10) {
            uint256 size = e.product == PRODUCT_TURIN ? 8 : 64;
            // Raw, or an OCTET STRING around it: the length decides, as a raw id may begin with 0x04.
            if (to - from == size + 2) (from, to) = Der.expect(der, from, to, Der.OCTET_STRING);
            if (to - from != size) revert SNP_LEAF_EXTENSIONS(bytes32(bit));
            e.chip = keccak256(abi.encodePacked(der[from:to], new bytes(64 - size)));
            return;
        }
        if (bit == 1 << 11) return;
        uint256 end;
        (from, end) = Der.expect(der, from, to, Der.INTEGER);
        bool padded = end - from == 2 && der[from] == 0 && uint8(der[from + 1]) >= 0x80;
        bool plain = end - from == 1 && uint8(der[from]) < 0x80;
        if (end != to || !(padded || plain)) revert SNP_LEAF_EXTENSIONS(bytes32(bit));
        uint8 value = uint8(der[end - 1]);
        bool turin = e.product == PRODUCT_TURIN;
        if (bit == 1) {
            if (value != (turin ? 1 : 0)) revert SNP_LEAF_EXTENSIONS(bytes32(bit));
            return;
        }
        // Byte of the component in TCB_VERSION (AMD 56860); what has none must be zero.
        uint256 place = 8;
        if (bit == 1 << 1) place = turin ? 1 : 0; // boot loader
        else if (bit == 1 << 2) place = turin ? 2 : 1; // TEE
        else if (bit == 1 << 3) place = turin ? 3 : 6; // SNP
        else if (bit == 1 << 8) place = 7; // microcode
        else if (bit == 1 << 9 && turin) place = 0; // FMC
        if (place == 8 && value != 0) revert SNP_LEAF_EXTENSIONS(bytes32(bit));
        if (place < 8) e.tcb |= bytes8(uint64(value)) << (8 * (7 - place));
    }
}
