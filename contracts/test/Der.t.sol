// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SNP_CERTIFICATES} from "../src/Errors.sol";
import {Der} from "../src/snp/Der.sol";
import {Expectations} from "./Expectations.sol";
import {vm} from "./Vm.sol";

contract DerReader {
    function expect(bytes calldata der, uint256 pos, uint256 end, uint8 tag) external pure returns (uint256, uint256) {
        return Der.expect(der, pos, end, tag);
    }

    function time(bytes calldata der, uint256 pos, uint256 end) external pure returns (uint256, uint256) {
        return Der.time(der, pos, end);
    }
}

/// One encoding of a length, and no byte behind the end that the caller names (X.690 §8.1.3, §10.1).
contract DerTest is Expectations {
    DerReader private _der;

    function setUp() public {
        _der = new DerReader();
    }

    function _refused(bytes memory der, uint256 pos, uint256 end) private {
        vm.expectRevert(abi.encodeWithSelector(SNP_CERTIFICATES.selector, pos));
        _der.expect(der, pos, end, Der.SEQUENCE);
    }

    function _read(bytes memory header, uint256 length) private view {
        bytes memory der = bytes.concat(hex"ff", header, new bytes(length), hex"ff");
        (uint256 from, uint256 to) = _der.expect(der, 1, der.length - 1, Der.SEQUENCE);
        equal(from, 1 + header.length);
        equal(to, from + length);
    }

    function test_lengths_have_one_form() public {
        _read(hex"3000", 0);
        _read(hex"3001", 1);
        _read(hex"307f", 127);
        _read(hex"308180", 128);
        _read(hex"3081ff", 255);
        _read(hex"30820100", 256);
        _read(hex"3082ffff", 65_535);
        bytes memory room = new bytes(70_000);
        bytes[9] memory others = [
            bytes(hex"3080"),
            hex"308100",
            hex"30817f",
            hex"30820000",
            hex"308200ff",
            hex"3083010000",
            hex"308400000001",
            hex"3088",
            hex"30ff"
        ];
        for (uint256 i = 0; i < others.length; ++i) {
            _refused(bytes.concat(others[i], room), 0, room.length);
        }
    }

    function test_nothing_is_read_behind_the_end() public {
        bytes memory room = new bytes(400);
        bytes[4] memory headers = [bytes(hex"3000"), hex"3003", hex"308180", hex"30820100"];
        uint256[4] memory lengths = [uint256(0), 3, 128, 256];
        for (uint256 i = 0; i < 4; ++i) {
            uint256 whole = headers[i].length + lengths[i];
            bytes memory der = bytes.concat(headers[i], room);
            _der.expect(der, 0, whole, Der.SEQUENCE);
            for (uint256 end = 0; end < whole; ++end) {
                if (end > 8 && end + 2 < whole) continue;
                _refused(der, 0, end);
            }
        }
        _refused("", 0, 0);
        _refused(hex"3081", 0, 2);
        _refused(hex"3082", 0, 2);
        _refused(hex"308201", 0, 3);
        vm.expectRevert(abi.encodeWithSelector(SNP_CERTIFICATES.selector, 0));
        _der.expect(hex"3000", 0, 2, Der.INTEGER);
    }

    function _time(uint8 tag, bytes memory text) private view returns (uint256 unix) {
        bytes memory der = bytes.concat(hex"ff", bytes1(tag), bytes1(uint8(text.length)), text, hex"ff");
        uint256 to;
        (unix, to) = _der.time(der, 1, der.length - 1);
        equal(to, der.length - 1);
    }

    function _noTime(uint8 tag, bytes memory text) private {
        bytes memory der = bytes.concat(bytes1(tag), bytes1(uint8(text.length)), text, "000000Z");
        vm.expectPartialRevert(SNP_CERTIFICATES.selector);
        _der.time(der, 0, 2 + text.length);
    }

    function test_times_are_those_of_the_calendar() public {
        equal(_time(Der.UTC_TIME, "700101000000Z"), 0);
        equal(_time(Der.UTC_TIME, "000229000001Z"), 951_782_401);
        equal(_time(Der.UTC_TIME, "240229123456Z"), 1_709_210_096);
        equal(_time(Der.UTC_TIME, "491231235959Z"), 2_524_607_999);
        equal(_time(Der.GENERALIZED_TIME, "20491231235959Z"), 2_524_607_999);
        equal(_time(Der.GENERALIZED_TIME, "21000301000000Z"), 4_107_542_400);
        // 1950: before the epoch, not 2050.
        vm.expectRevert();
        _der.time("\x17\x0d500101000000Z", 0, 15);
        uint256 unix = 0;
        uint8[12] memory lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (uint256 year = 1970; year < 2110; ++year) {
            for (uint256 month = 0; month < 12; ++month) {
                bytes memory day = bytes.concat(_two(year / 100), _two(year % 100), _two(month + 1), "01000000Z");
                equal(_time(Der.GENERALIZED_TIME, day), unix);
                bool isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                unix += (lengths[month] + (month == 1 && isLeap ? 1 : 0)) * 1 days;
            }
        }
    }

    function _two(uint256 number) private pure returns (bytes memory) {
        return bytes.concat(bytes1(uint8(48 + number / 10)), bytes1(uint8(48 + number % 10)));
    }

    function test_times_have_one_form() public {
        bytes memory good = "240229123456Z";
        for (uint256 i = 0; i < 12; ++i) {
            bytes memory bad = bytes.concat(good);
            bad[i] = "/";
            _noTime(Der.UTC_TIME, bad);
            bad[i] = ":";
            _noTime(Der.UTC_TIME, bad);
        }
        _noTime(Der.UTC_TIME, "240229123456z");
        _noTime(Der.UTC_TIME, "2402291234Z");
        _noTime(Der.UTC_TIME, "24022912345600Z");
        _noTime(Der.UTC_TIME, "20240229123456Z");
        _noTime(Der.GENERALIZED_TIME, "240229123456Z");
        _noTime(Der.GENERALIZED_TIME, "202402291234Z");
        _noTime(Der.GENERALIZED_TIME, "2024022912345600Z");
        _noTime(Der.GENERALIZED_TIME, "20240229123456+");
        _noTime(Der.OCTET_STRING, "240229123456Z");
        _noTime(Der.OCTET_STRING, "20240229123456Z");
        vm.expectRevert(abi.encodeWithSelector(SNP_CERTIFICATES.selector, 0));
        _der.time("", 0, 0);
        vm.expectRevert(abi.encodeWithSelector(SNP_CERTIFICATES.selector, 1));
        _der.time(hex"ff", 1, 1);
        vm.expectRevert(abi.encodeWithSelector(SNP_CERTIFICATES.selector, 0));
        _der.time(bytes.concat(hex"170d", good), 0, 14);
    }
}
