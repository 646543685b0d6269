// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {LOW, P} from "./Lanes.sol";

/// Points of the domains of codes, and the weights of their powers (libs/zk/SPEC.md §9.1, §9.3).
library Domain {
    /// eq of two variables at a time, the last ones first; where their number is odd, of the last one alone before.
    function powerTable(uint256 pos, uint256 n) internal pure returns (uint256 list) {
        unchecked {
            uint256 odd = n & 1;
            list = Ext.eqTable(pos + 32 * (n - odd), odd);
            if (odd == 0) list += 32;
            for (uint256 k = n - odd; k > 0; k -= 2) { Ext.eqTable(pos + 32 * (k - 2), 2); }
        }
    }

    /// Π_k (1 + ρ_k·(y^{2^{n−1−k}} − 1)) for y in the base field, and y^{2^n}. Of two variables at a time it is
    /// Σ_{i<4} eq(ρ, i)·y^i.
    /// @param list that of `powerTable`
    function basePower(uint256 y, uint256 list, uint256 n) internal pure returns (uint256 result, uint256 power) {
        assembly ("memory-safe") {
            result := 1
            if and(n, 1) {
                let v := add(mload(list), mul(mload(add(list, 32)), y))
                result := or(mod(and(v, LOW), P), shl(128, mod(shr(128, v), P)))
                list := add(list, 64)
                y := mulmod(y, y, P)
            }
            for { let end := add(list, shl(7, shr(1, n))) } lt(list, end) { list := add(list, 128) } {
                let square := mulmod(y, y, P)
                let v := mload(list)
                let a := mul(mload(add(list, 32)), y)
                let b := mul(mload(add(list, 64)), square)
                let c := mul(mload(add(list, 96)), mulmod(y, square, P))
                let im := add(add(shr(128, v), shr(128, a)), add(shr(128, b), shr(128, c)))
                // The low halves alone, as in Leaves.
                v := sub(add(add(v, a), add(b, c)), shl(128, im))
                let l := mul(result, mod(v, P))
                let h := mul(result, mod(im, P))
                result := or(mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                    shl(128, mod(add(shr(128, l), and(h, LOW)), P)))
                y := mulmod(square, square, P)
            }
            power := y
        }
    }

    /// For every three bits of an index, the lowest first, what each value of them multiplies a point of the domain by.
    function table(uint256 m, uint256 logBlowup) internal pure returns (uint256 list) {
        unchecked {
            uint256 count = (m + logBlowup + 2) / 3;
            uint256 roots = _rootsByBit(m, logBlowup);
            list = Ext.allocate(8 * count);
            for (uint256 own = list; own < list + 256 * count; own += 256) {
                Ext.put(own, 0, 1);
                for (uint256 size = 1; size < 8; size *= 2) {
                    uint256 root = Ext.get(roots, 0);
                    roots += 32;
                    for (uint256 i; i < size; ++i) { Ext.put(own, size + i, mulmod(Ext.get(own, i), root, Ext.P)); }
                }
            }
        }
    }

    /// What each bit of an index multiplies a point of the domain by (§9.1), bit 0 first: ω_{2^{m+R}}^{2^i} for bit m + i
    /// and, since positions are in reversed order of bits, ω_{2^m}^{2^{m−1−i}} for bit i.
    function _rootsByBit(uint256 m, uint256 logBlowup) private pure returns (uint256 list) {
        unchecked {
            uint256 root = 0x185629dcda58878c;
            for (uint256 i = 32; i > m + logBlowup; --i) { root = mulmod(root, root, Ext.P); }
            list = Ext.allocate(m + logBlowup + 2);
            for (uint256 i; i < logBlowup; ++i) {
                Ext.put(list, m + i, root);
                root = mulmod(root, root, Ext.P);
            }
            for (uint256 i = m; i > 0; --i) {
                Ext.put(list, i - 1, root);
                root = mulmod(root, root, Ext.P);
            }
        }
    }

    /// 7·ω_{2^{m+R}}^{i >> m}·ω_{2^m}^{bitrev_m(i mod 2^m)} (§9.1).
    function point(uint256 index, uint256 list) internal pure returns (uint256 y) {
        assembly ("memory-safe") {
            y := 7
            for {} index { index := shr(3, index) } {
                y := mulmod(y, mload(add(list, shl(5, and(index, 7)))), P)
                list := add(list, 256)
            }
        }
    }
}
