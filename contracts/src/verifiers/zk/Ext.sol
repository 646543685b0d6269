// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {CARRIES, LOW, PP, ROOM, SYMBOL, SYMBOLS} from "./Lanes.sol";

/// F_p[X]/(X² − 7) over Goldilocks; c0 + c1·X is the word c0 | c1 << 128, both canonical (libs/zk/SPEC.md §1, §15).
/// Vectors are pointers to memory words. The most significant bit of an index is variable 0.
library Ext {
    uint256 internal constant P = 0xffffffff00000001;
    uint256 internal constant ONE = 1;
    uint256 internal constant X = 1 << 128;
    uint256 internal constant HALF = 0x7fffffff80000001;

    function add(uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let s := add(a, b)
            c := or(mod(and(s, LOW), P), shl(128, mod(shr(128, s), P)))
        }
    }

    function sub(uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let s := sub(add(a, PP), b)
            c := or(mod(and(s, LOW), P), shl(128, mod(shr(128, s), P)))
        }
    }

    function neg(uint256 a) internal pure returns (uint256) {
        return sub(0, a);
    }

    function mul(uint256 a, uint256 b) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let l := mul(a, and(b, LOW))
            let h := mul(a, shr(128, b))
            c := or(mod(add(and(l, LOW), mul(7, shr(128, h))), P), shl(128, mod(add(shr(128, l), and(h, LOW)), P)))
        }
    }

    /// a·s for s below p.
    function scale(uint256 a, uint256 s) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let l := mul(a, s)
            c := or(mod(and(l, LOW), P), shl(128, mod(shr(128, l), P)))
        }
    }

    /// a + r·(b − a).
    function between(uint256 a, uint256 b, uint256 r) internal pure returns (uint256) {
        return add(a, mul(r, sub(b, a)));
    }

    /// d·(ρ − r) + e·(ρ² − ρ): what a round of a sumcheck in mean form adds (§6).
    function round(uint256 d, uint256 e, uint256 rho, uint256 r) internal pure returns (uint256) {
        return add(mul(d, sub(rho, r)), mul(e, sub(mul(rho, rho), rho)));
    }

    /// 2^k for any k; 2 has order 192.
    function pow2(uint256 k) internal pure returns (uint256) {
        return (1 << (k % 192)) % P;
    }

    function inversePow2(uint256 k) internal pure returns (uint256) {
        unchecked {
            return (1 << (192 - k)) % P;
        }
    }

    /// Two 128-bit halves of a digest, each reduced (§5).
    function fromDigest(uint256 d) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            c := or(mod(shr(128, d), P), shl(128, mod(and(d, LOW), P)))
        }
    }

    function get(uint256 list, uint256 i) internal pure returns (uint256 v) {
        assembly ("memory-safe") {
            v := mload(add(list, shl(5, i)))
        }
    }

    function put(uint256 list, uint256 i, uint256 v) internal pure {
        assembly ("memory-safe") {
            mstore(add(list, shl(5, i)), v)
        }
    }

    /// Fresh memory of `words` zero words.
    function allocate(uint256 words) internal pure returns (uint256 list) {
        assembly ("memory-safe") {
            list := mload(0x40)
            let size := shl(5, words)
            calldatacopy(list, calldatasize(), size)
            mstore(0x40, add(list, size))
        }
    }

    /// Π (1 − a_k − b_k + 2·a_k·b_k).
    function eq(uint256 a, uint256 b, uint256 n) internal pure returns (uint256 result) {
        assembly ("memory-safe") {
            result := 1
            for { let end := add(a, shl(5, n)) } lt(a, end) { a := add(a, 32) } {
                let x := mload(a)
                let y := mload(b)
                b := add(b, 32)
                let l := mul(x, and(y, LOW))
                let h := mul(x, shr(128, y))
                // 1 + 2p − x − y, both halves positive.
                x := sub(sub(add(1, shl(1, PP)), x), y)
                y := mod(add(shr(128, x), shl(1, add(shr(128, l), and(h, LOW)))), P)
                x := mod(add(and(x, LOW), shl(1, add(and(l, LOW), mul(7, shr(128, h))))), P)
                l := mul(result, x)
                h := mul(result, y)
                result := or(
                    mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                    shl(128, mod(add(shr(128, l), and(h, LOW)), P))
                )
            }
        }
    }

    /// eq of the last k of n coordinates of two lists, for every k.
    /// @param a end of the one, `b` end of the other
    function eqTails(uint256 a, uint256 b, uint256 n) internal pure returns (uint256 list) {
        unchecked {
            list = allocate(n + 1);
            uint256 result = ONE;
            put(list, 0, ONE);
            for (uint256 k = 1; k <= n; ++k) {
                result = mul(result, eq(a - 32 * k, b - 32 * k, 1));
                put(list, k, result);
            }
        }
    }

    /// As `eqIndex`, where `table` is eq of the first `known` coordinates.
    function eqPlace(uint256 table, uint256 known, uint256 point, uint256 n, uint256 index)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            if (n < known) return eqIndex(point, n, index);
            n -= known;
            return mul(get(table, (index >> n) & ((1 << known) - 1)), eqIndex(point + 32 * known, n, index));
        }
    }

    /// eq(point, bits of index).
    function eqIndex(uint256 point, uint256 n, uint256 index) internal pure returns (uint256 result) {
        assembly ("memory-safe") {
            result := 1
            for { let k := n } k {} {
                k := sub(k, 1)
                let x := mload(point)
                point := add(point, 32)
                let x0 := and(x, LOW)
                let x1 := shr(128, x)
                if iszero(and(shr(k, index), 1)) {
                    x0 := mod(sub(add(P, 1), x0), P)
                    x1 := mod(sub(P, x1), P)
                }
                let l := mul(result, x0)
                let h := mul(result, x1)
                result := or(
                    mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                    shl(128, mod(add(shr(128, l), and(h, LOW)), P))
                )
            }
        }
    }

    /// eq(point, ·) on all corners in index order.
    function eqTable(uint256 point, uint256 n) internal pure returns (uint256 table) {
        table = allocate(1 << n);
        put(table, 0, ONE);
        assembly ("memory-safe") {
            for { let size := 32 } n { n := sub(n, 1) } {
                let x0 := mload(point)
                point := add(point, 32)
                let x1 := shr(128, x0)
                x0 := and(x0, LOW)
                for { let i := size } i {} {
                    i := sub(i, 32)
                    let own := mload(add(table, i))
                    let l := mul(own, x0)
                    let h := mul(own, x1)
                    h := or(
                        mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                        shl(128, mod(add(shr(128, l), and(h, LOW)), P))
                    )
                    own := sub(add(own, PP), h)
                    let place := add(table, shl(1, i))
                    mstore(place, or(mod(and(own, LOW), P), shl(128, mod(shr(128, own), P))))
                    mstore(add(place, 32), h)
                }
                size := shl(1, size)
            }
        }
    }

    /// Σ a_i·b_i. Of each product whole words and high halves are summed; the low halves are what is left.
    function dot(uint256 a, uint256 b, uint256 n) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let byRe := 0
            let byIm := 0
            let re := 0
            let im := 0
            for { let end := add(a, shl(5, n)) } lt(a, end) { a := add(a, 32) } {
                let y := mload(b)
                b := add(b, 32)
                let x := mload(a)
                let h := mul(x, shr(128, y))
                x := mul(x, and(y, LOW))
                byRe := add(byRe, x)
                byIm := add(byIm, h)
                im := add(im, shr(128, x))
                re := add(re, shr(128, h))
            }
            c := or(
                mod(add(sub(byRe, shl(128, im)), mul(7, re)), P),
                shl(128, mod(add(im, sub(byIm, shl(128, re))), P))
            )
        }
    }

    /// Σ weight_i·element_i of `count` extension elements of the calldata, and whether all are canonical: two to a word,
    /// their coordinates 128 bits apart. Sums are kept as in `dot`.
    function dotElements(uint256 pos, uint256 count, uint256 weights)
        internal
        pure
        returns (bool canonical, uint256 sum)
    {
        assembly ("memory-safe") {
            let carry := 0
            let byRe := 0
            let byIm := 0
            let re := 0
            let im := 0
            let end := add(pos, shl(4, count))
            if and(count, 1) {
                let odd := shr(128, calldataload(pos))
                let even := shr(64, odd)
                odd := and(odd, SYMBOL)
                carry := or(add(even, ROOM), add(odd, ROOM))
                byRe := mul(mload(weights), even)
                byIm := mul(mload(weights), odd)
                im := shr(128, byRe)
                re := shr(128, byIm)
                pos := add(pos, 16)
                weights := add(weights, 32)
            }
            for {} lt(pos, end) { pos := add(pos, 32) } {
                let odd := calldataload(pos)
                let even := and(shr(64, odd), SYMBOLS)
                odd := and(odd, SYMBOLS)
                carry := or(carry, or(add(even, ROOM), add(odd, ROOM)))
                let x := mload(weights)
                let y := mload(add(weights, 32))
                weights := add(weights, 64)
                let a := mul(x, shr(128, even))
                let b := mul(y, and(even, LOW))
                byRe := add(byRe, add(a, b))
                im := add(im, add(shr(128, a), shr(128, b)))
                a := mul(x, shr(128, odd))
                b := mul(y, and(odd, LOW))
                byIm := add(byIm, add(a, b))
                re := add(re, add(shr(128, a), shr(128, b)))
            }
            canonical := iszero(and(carry, CARRIES))
            sum := or(
                mod(add(sub(byRe, shl(128, im)), mul(7, re)), P),
                shl(128, mod(add(im, sub(byIm, shl(128, re))), P))
            )
        }
    }

    /// The multilinear extension of 2^n elements of the calldata, canonical ones, at a point.
    function evaluateElements(uint256 pos, uint256 point, uint256 n) internal pure returns (uint256 result) {
        unchecked {
            uint256 low = n / 2;
            uint256 columns = eqTable(point + 32 * (n - low), low);
            uint256 rows = eqTable(point, n - low);
            for (uint256 end = rows + (32 << (n - low)); rows < end; rows += 32) {
                (, uint256 own) = dotElements(pos, 1 << low, columns);
                result = add(result, mul(get(rows, 0), own));
                pos += 16 << low;
            }
        }
    }

    /// The multilinear extension of 2^n values at a point, of which those from `used` on are zero: rows of the low half of
    /// the variables, then their sums.
    function evaluate(uint256 values, uint256 used, uint256 point, uint256 n) internal pure returns (uint256 result) {
        unchecked {
            uint256 low = n / 2;
            uint256 columns = eqTable(point + 32 * (n - low), low);
            uint256 rows = eqTable(point, n - low);
            for (uint256 i; i << low < used; ++i) {
                result = add(result, mul(get(rows, i), dot(values + (32 << low) * i, columns, 1 << low)));
            }
        }
    }

    /// As `evaluate`, of 2^n unsigned 32-bit integers in the calldata, four or more.
    function evaluateWords(uint256 pos, uint256 point, uint256 n) internal pure returns (uint256 result) {
        unchecked {
            uint256 low = n / 2;
            uint256 columns = eqTable(point + 32 * (n - low), low);
            uint256 rows = eqTable(point, n - low);
            for (uint256 i; i < 1 << (n - low); ++i) {
                uint256 own;
                assembly ("memory-safe") {
                    // Neither half overflows: at most 2^32 products of 96 bits.
                    let at := columns
                    for { let end := add(pos, shl(add(low, 2), 1)) } lt(pos, end) { pos := add(pos, 8) } {
                        let two := shr(192, calldataload(pos))
                        own := add(own, add(mul(mload(at), shr(32, two)), mul(mload(add(at, 32)), and(two, 0xffffffff))))
                        at := add(at, 64)
                    }
                    own := or(mod(and(own, LOW), P), shl(128, mod(shr(128, own), P)))
                }
                result = add(result, mul(get(rows, i), own));
            }
        }
    }

    /// The MLE of i ↦ y^i at a point: Π_k (1 + ρ_k·(y^{2^{n−1−k}} − 1)).
    /// @return result that
    /// @return power  y^{2^n}
    function powerWeight(uint256 y, uint256 point, uint256 n) internal pure returns (uint256 result, uint256 power) {
        unchecked {
            result = ONE;
            for (uint256 k = n; k > 0;) {
                --k;
                result = mul(result, add(ONE, mul(get(point, k), sub(y, ONE))));
                y = mul(y, y);
            }
            return (result, y);
        }
    }

    /// Σ_k z_k·2^(n−1−k): the MLE of the index.
    function indexAt(uint256 point, uint256 n) internal pure returns (uint256 value) {
        unchecked {
            for (uint256 k; k < n; ++k) {
                value = add(add(value, value), get(point, k));
            }
        }
    }
}
