// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SNP_CERTIFICATES} from "../Errors.sol";

/// Walks DER (X.690) of at most 65,535 bytes: definite, minimal lengths only.
library Der {
    uint8 internal constant BOOLEAN = 0x01;
    uint8 internal constant INTEGER = 0x02;
    uint8 internal constant BIT_STRING = 0x03;
    uint8 internal constant OCTET_STRING = 0x04;
    uint8 internal constant OID = 0x06;
    uint8 internal constant UTC_TIME = 0x17;
    uint8 internal constant GENERALIZED_TIME = 0x18;
    uint8 internal constant SEQUENCE = 0x30;
    uint8 internal constant EXTENSIONS = 0xa3;

    /// The element at `pos` must have `tag` and end by `end`; its content is der[from:to].
    function expect(bytes calldata der, uint256 pos, uint256 end, uint8 tag)
        internal
        pure
        returns (uint256 from, uint256 to)
    {
        if (pos + 2 > end || uint8(der[pos]) != tag) revert SNP_CERTIFICATES(pos);
        uint256 length = uint8(der[pos + 1]);
        from = pos + 2;
        if (length == 0x81) {
            if (from + 1 > end) revert SNP_CERTIFICATES(pos);
            length = uint8(der[from]);
            if (length < 0x80) revert SNP_CERTIFICATES(pos);
            from += 1;
        } else if (length == 0x82) {
            if (from + 2 > end) revert SNP_CERTIFICATES(pos);
            length = (uint256(uint8(der[from])) << 8) | uint8(der[from + 1]);
            if (length < 0x100) revert SNP_CERTIFICATES(pos);
            from += 2;
        } else if (length >= 0x80) {
            revert SNP_CERTIFICATES(pos);
        }
        to = from + length;
        if (to > end) revert SNP_CERTIFICATES(pos);
    }

    /// UTCTime or GeneralizedTime, in Zulu with seconds, as Unix seconds.
    function time(bytes calldata der, uint256 pos, uint256 end) internal pure returns (uint256 unix, uint256 to) {
        if (pos >= end) revert SNP_CERTIFICATES(pos);
        uint8 tag = uint8(der[pos]);
        uint256 from;
        (from, to) = expect(der, pos, end, tag);
        uint256 year;
        if (tag == UTC_TIME && to - from == 13) {
            year = _digits(der, from);
            year += year < 50 ? 2000 : 1900;
            from += 2;
        } else if (tag == GENERALIZED_TIME && to - from == 15) {
            year = _digits(der, from) * 100 + _digits(der, from + 2);
            from += 4;
        } else {
            revert SNP_CERTIFICATES(pos);
        }
        if (der[to - 1] != "Z") revert SNP_CERTIFICATES(pos);
        uint256 day = _days(year, _digits(der, from), _digits(der, from + 2));
        unix = ((day * 24 + _digits(der, from + 4)) * 60 + _digits(der, from + 6)) * 60 + _digits(der, from + 8);
    }

    function _digits(bytes calldata der, uint256 pos) private pure returns (uint256) {
        uint256 tens = uint8(der[pos]) ^ 0x30;
        uint256 ones = uint8(der[pos + 1]) ^ 0x30;
        if (tens > 9 || ones > 9) revert SNP_CERTIFICATES(pos);
        return tens * 10 + ones;
    }

    /// Days from 1970-01-01 in the Gregorian calendar, year ≥ 1970.
    function _days(uint256 year, uint256 month, uint256 day) private pure returns (uint256) {
        // Years begin in March, so that the leap day is the last of them.
        if (month <= 2) {
            year -= 1;
            month += 12;
        }
        return 365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day - 719_469;
    }
}
