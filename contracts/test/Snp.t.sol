// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import "../src/Errors.sol";
import {SnpEndorsement, SnpIssuer} from "../src/snp/SnpCertificates.sol";
import {ISnpVerifier, SnpClaims} from "../src/interfaces/ISnpVerifier.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

interface ICurve {
    function verify(bytes calldata hash, bytes calldata signature, bytes calldata key) external view returns (bool);
}

interface ICertificates is ISnpVerifier {
    function addCertificate(bytes calldata der, bytes calldata modulus) external returns (bytes32 publicKey);

    function endorsementOf(bytes32 publicKey) external view returns (SnpEndorsement memory);

    function condemn(bytes32 what, bytes32 reason) external;
}

/// Certificates and reports of simulated vendors, and P-384, judged by the real contracts: test/vectors/snp.json.
contract SnpTest is Fixture {
    string private _json;
    ICurve private _p384;
    ICertificates private _verifier;

    function setUp() public override {
        super.setUp();
        _json = vm.readFile("contracts/test/vectors/snp.json");
        vm.warp(vm.parseJsonUint(_json, ".at"));
        _p384 = ICurve(deploy("P384", ""));
        SnpIssuer[] memory issuers = new SnpIssuer[](2);
        issuers[0] = SnpIssuer(keccak256(_of("milan", "modulus")), 1, false);
        issuers[1] = SnpIssuer(keccak256(_of("turin", "modulus")), 3, false);
        _verifier = ICertificates(deploy("SnpVerifier", abi.encode(roles, issuers, _p384)));
    }

    function _of(string memory vendor, string memory what) private view returns (bytes memory) {
        return vm.parseJsonBytes(_json, string.concat(".vendors.", vendor, ".", what));
    }

    function _add(string memory vendor) private returns (SnpEndorsement memory) {
        return _verifier.endorsementOf(_verifier.addCertificate(_of(vendor, "leaf"), _of(vendor, "modulus")));
    }

    function _verify(string memory vendor, bytes memory report) private view returns (SnpClaims memory) {
        return _verifier.verifyReport(report, _of(vendor, "publicKey"));
    }

    function test_certificates_and_reports_of_both_layouts_verify() public {
        string[2] memory vendors = ["milan", "turin"];
        for (uint256 i = 0; i < 2; ++i) {
            bytes memory report = _of(vendors[i], "report");
            bytes memory key = _of(vendors[i], "publicKey");
            fails(SNP_ENDORSEMENT_MISSING.selector);
            _verifier.verifyReport(report, key);
            SnpEndorsement memory e = _add(vendors[i]);
            equal(e.product, i == 0 ? 1 : 3);
            SnpClaims memory c = _verify(vendors[i], report);
            require(c.chip == e.chip && c.serial == e.serial && c.issuer == e.issuer && c.tcb == e.tcb, "endorsement");
            require(c.issuer == keccak256(_of(vendors[i], "modulus")), "issuer");
            require(c.measurement == keccak256(abi.encodePacked(bytes32(uint256(0x0707070707070707070707070707070707070707070707070707070707070707)), bytes16(0x07070707070707070707070707070707))), "measurement");
            require(c.reportDataHigh == bytes32(uint256(0x0909090909090909090909090909090909090909090909090909090909090909)), "data");
        }
    }

    /// Every byte that is signed, and every one that is not, in steps that meet each field.
    function test_S_M8_no_byte_of_a_report_can_be_changed() public {
        _add("milan");
        bytes memory report = _of("milan", "report");
        bytes memory key = _of("milan", "publicKey");
        for (uint256 i = 0x330; i < 0x4a0; ++i) {
            report[i] = 0x01;
            fails(SNP_REPORT_RESERVED.selector);
            _verifier.verifyReport(report, key);
            report[i] = 0;
        }
        for (uint256 i = 0; i < 0x2a0; i += 61) {
            report[i] ^= 0x40;
            vm.expectRevert();
            _verifier.verifyReport(report, key);
            report[i] ^= 0x40;
        }
        // The twin of the signature is the same report: one id.
        bytes32 id = _verify("milan", report).id;
        bytes memory order = vm.parseJsonBytes(_json, ".order");
        _negate(report, order);
        require(_verify("milan", report).id == id, "a report with another signature is another");
    }

    /// s becomes n − s, little-endian in the report.
    function _negate(bytes memory report, bytes memory order) private pure {
        uint256 borrow;
        for (uint256 i = 0; i < 48; ++i) {
            uint256 place = 0x2a0 + 72 + i;
            uint256 n = uint8(order[47 - i]);
            uint256 s = uint256(uint8(report[place])) + borrow;
            borrow = s > n ? 1 : 0;
            report[place] = bytes1(uint8(n + 256 * borrow - s));
        }
    }

    function test_S_M7_an_issuer_that_leaked_is_condemned_with_all_it_signed() public {
        SnpEndorsement memory e = _add("milan");
        bytes memory report = _of("milan", "report");
        bytes memory key = _of("milan", "publicKey");
        bytes32[4] memory what = [e.chip, e.serial, e.issuer, bytes32(uint256(e.product))];
        for (uint256 i = 0; i < 4; ++i) {
            setUp();
            _add("milan");
            vm.prank(revoker);
            _verifier.condemn(what[i], "leaked");
            fails(SNP_REVOKED.selector);
            _verifier.verifyReport(report, key);
            (bytes memory leaf, bytes memory modulus) = (_of("milan", "leaf"), _of("milan", "modulus"));
            fails(SNP_REVOKED.selector);
            _verifier.addCertificate(leaf, modulus);
            _add("turin");
        }
    }

    function test_certificates_are_of_their_issuer_and_kind() public {
        bytes memory leaf = _of("milan", "leaf");
        (bytes memory milan, bytes memory turin) = (_of("milan", "modulus"), _of("turin", "modulus"));
        fails(SNP_CERTIFICATE_SIGNATURE.selector);
        _verifier.addCertificate(leaf, turin);
        milan[511] ^= 0x02;
        fails(SNP_CHAIN.selector);
        _verifier.addCertificate(leaf, milan);
        milan[511] ^= 0x02;
        bytes memory vlek = _of("milan", "vlek");
        fails(SNP_LEAF_EXTENSIONS.selector);
        _verifier.addCertificate(vlek, milan);
        vm.warp(1);
        fails(SNP_VALIDITY.selector);
        _verifier.addCertificate(leaf, milan);
    }

    /// DER: each byte of the tags and lengths at the front, and a certificate cut short or lengthened.
    function test_a_certificate_has_one_form() public {
        (bytes memory leaf, bytes memory modulus) = (_of("milan", "leaf"), _of("milan", "modulus"));
        for (uint256 i = 0; i < 40; ++i) {
            leaf[i] ^= 0x01;
            vm.expectRevert();
            _verifier.addCertificate(leaf, modulus);
            leaf[i] ^= 0x01;
        }
        vm.expectRevert();
        _verifier.addCertificate(abi.encodePacked(leaf, bytes1(0)), modulus);
        assembly ("memory-safe") {
            mstore(leaf, sub(mload(leaf), 1))
        }
        vm.expectRevert();
        _verifier.addCertificate(leaf, modulus);
    }

    function test_p384_agrees_with_reference_libraries() public view {
        for (uint256 i = 0; i < 20; ++i) {
            (bytes memory h, bytes memory s, bytes memory twin, bytes memory q) = _vector(i);
            require(_p384.verify(h, s, q), "good");
            require(_p384.verify(h, twin, q), "high s");
            for (uint256 k = 0; k < 4; ++k) {
                uint256 place = (i * 13 + k * 24) % 96;
                s[place] ^= 0x10;
                require(!_p384.verify(h, s, q), "signature");
                s[place] ^= 0x10;
            }
            h[47] ^= 0x01;
            require(!_p384.verify(h, s, q), "hash");
            h[47] ^= 0x01;
            q[i % 96] ^= 0x01;
            require(!_p384.verify(h, s, q), "key off the curve");
        }
    }

    function test_p384_takes_numbers_of_the_group_alone() public view {
        bytes memory order = vm.parseJsonBytes(_json, ".order");
        (bytes memory h, bytes memory s,, bytes memory q) = _vector(0);
        bytes memory r = _part(s, 0);
        bytes memory t = _part(s, 48);
        bytes memory zero = new bytes(48);
        require(!_p384.verify(h, abi.encodePacked(zero, t), q), "r zero");
        require(!_p384.verify(h, abi.encodePacked(r, zero), q), "s zero");
        require(!_p384.verify(h, abi.encodePacked(order, t), q), "r order");
        require(!_p384.verify(h, abi.encodePacked(r, order), q), "s order");
        require(!_p384.verify(h, s, new bytes(96)), "key zero");
    }

    function _part(bytes memory from, uint256 place) private pure returns (bytes memory out) {
        out = new bytes(48);
        for (uint256 i = 0; i < 48; ++i) out[i] = from[place + i];
    }

    function _vector(uint256 i) private view returns (bytes memory, bytes memory, bytes memory, bytes memory) {
        string memory key = string.concat(".p384[", _number(i), "].");
        return (
            vm.parseJsonBytes(_json, string.concat(key, "hash")),
            vm.parseJsonBytes(_json, string.concat(key, "signature")),
            vm.parseJsonBytes(_json, string.concat(key, "twin")),
            vm.parseJsonBytes(_json, string.concat(key, "publicKey"))
        );
    }

    function _number(uint256 i) private pure returns (string memory) {
        bytes memory one = abi.encodePacked(bytes1(uint8(48 + i % 10)));
        return i < 10 ? string(one) : string(abi.encodePacked(bytes1(uint8(48 + i / 10)), one));
    }
}
