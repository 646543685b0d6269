// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// F_p[X]/(X² − 7) over Goldilocks; c0 + c1·X is the word c0 | c1 << 128, both canonical (libs/zk/SPEC.md §1, §15).
/// Vectors are pointers to memory words. The most significant bit of an index is variable 0.
library Ext {
    uint256 internal constant P = 0xffffffff00000001;
    uint256 internal constant ONE = 1;
    uint256 internal constant X = 1 << 128;
    uint256 internal constant HALF = 0x7fffffff80000001;
    uint256 private constant LOW = 0xffffffffffffffffffffffffffffffff;
    uint256 private constant PP = 0xffffffff000000010000000000000000ffffffff00000001;

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
        unchecked {
            result = ONE;
            for (uint256 k; k < n; ++k) {
                (uint256 x, uint256 y) = (get(a, k), get(b, k));
                uint256 factor;
                assembly ("memory-safe") {
                    let l := mul(x, and(y, LOW))
                    let h := mul(x, shr(128, y))
                    // 1 + 2p − x − y, both halves positive.
                    let rest := sub(sub(add(1, shl(1, PP)), x), y)
                    factor := or(
                        mod(add(and(rest, LOW), shl(1, add(and(l, LOW), mul(7, shr(128, h))))), P),
                        shl(128, mod(add(shr(128, rest), shl(1, add(shr(128, l), and(h, LOW)))), P))
                    )
                }
                result = mul(result, factor);
            }
        }
    }

    /// eq(point, bits of index).
    function eqIndex(uint256 point, uint256 n, uint256 index) internal pure returns (uint256 result) {
        unchecked {
            result = ONE;
            for (uint256 k; k < n; ++k) {
                uint256 x = get(point, k);
                result = mul(result, (index >> (n - 1 - k)) & 1 == 1 ? x : sub(ONE, x));
            }
        }
    }

    /// eq(point, ·) on all corners in index order.
    function eqTable(uint256 point, uint256 n) internal pure returns (uint256 table) {
        unchecked {
            table = allocate(1 << n);
            put(table, 0, ONE);
            for (uint256 k; k < n; ++k) {
                uint256 x = get(point, k);
                for (uint256 i = 1 << k; i > 0;) {
                    --i;
                    uint256 own = get(table, i);
                    uint256 high = mul(own, x);
                    put(table, 2 * i, sub(own, high));
                    put(table, 2 * i + 1, high);
                }
            }
        }
    }

    function dot(uint256 a, uint256 b, uint256 n) internal pure returns (uint256 c) {
        assembly ("memory-safe") {
            let re := 0
            let im := 0
            for { let end := add(a, shl(5, n)) } lt(a, end) { a := add(a, 32) } {
                let x := mload(a)
                let y := mload(b)
                b := add(b, 32)
                let l := mul(x, and(y, LOW))
                let h := mul(x, shr(128, y))
                re := add(re, add(and(l, LOW), mul(7, shr(128, h))))
                im := add(im, add(shr(128, l), and(h, LOW)))
            }
            c := or(mod(re, P), shl(128, mod(im, P)))
        }
    }

    /// The multilinear extension of 2^n values at a point; overwrites the values.
    function evaluate(uint256 values, uint256 point, uint256 n) internal pure returns (uint256) {
        unchecked {
            for (uint256 k; k < n; ++k) {
                uint256 x = get(point, k);
                assembly ("memory-safe") {
                    let x0 := and(x, LOW)
                    let x1 := shr(128, x)
                    let size := shl(5, shl(sub(sub(n, k), 1), 1))
                    for { let i := 0 } lt(i, size) { i := add(i, 32) } {
                        let place := add(values, i)
                        let a := mload(place)
                        let d := sub(add(mload(add(place, size)), PP), a)
                        d := or(mod(and(d, LOW), P), shl(128, mod(shr(128, d), P)))
                        let l := mul(d, x0)
                        let h := mul(d, x1)
                        mstore(
                            place,
                            or(
                                mod(add(and(a, LOW), add(and(l, LOW), mul(7, shr(128, h)))), P),
                                shl(128, mod(add(shr(128, a), add(shr(128, l), and(h, LOW))), P))
                            )
                        )
                    }
                }
            }
            return get(values, 0);
        }
    }

    /// The MLE of i ↦ y^i at a point: Π_k (1 + ρ_k·(y^{2^{n−1−k}} − 1)).
    function powerWeight(uint256 y, uint256 point, uint256 n) internal pure returns (uint256 result) {
        unchecked {
            result = ONE;
            for (uint256 k = n; k > 0;) {
                --k;
                result = mul(result, add(ONE, mul(get(point, k), sub(y, ONE))));
                y = mul(y, y);
            }
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
