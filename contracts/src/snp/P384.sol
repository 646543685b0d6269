// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {P384Table} from "./P384Table.sol";

/// ECDSA over P-384. A field element is two words, 128 + 256 bits, any value below 2^384; products fold by
/// 2^384 = 2^128 + 2^96 − 2^32 + 1. Jacobian coordinates, joint 4-bit windows of u1·G + u2·Q. contracts/SPEC.md §10.
///
/// A contract of its own: its memory above 0x1000 is laid out by hand, far beyond Solidity's free pointer.
contract P384 {
    /// Whether (r, s) signs the 384-bit `hash` under the affine key (x, y). Accepts high s. Numbers are 48 bytes.
    /// @param signature r ‖ s, 96 bytes
    /// @param publicKey x ‖ y, 96 bytes
    function verify(bytes calldata hash, bytes calldata signature, bytes calldata publicKey)
        external
        view
        returns (bool ok)
    {
        if (hash.length != 48 || signature.length != 96 || publicKey.length != 96) return false;
        bytes memory table = P384Table.MULTIPLES;
        assembly ("memory-safe") {
            // Accumulator X, Y, Z; temporaries; MODEXP input; tables. Each element 0x40 bytes.
            // 0x1000 X  0x1040 Y  0x1080 Z  0x10c0… temporaries A–G  0x1280 MODEXP input
            // 0x1400 r  0x1440 s  0x1480 e, then u1  0x14c0 u2  0x1500 w  0x1540 qx  0x1580 qy
            // 0x1600 wide product (3 words)
            // 0x2000 multiples of Q, 16 × (x, y)  0x2800 their Z  0x2c00 prefix products  0x3000 multiples of G
            function load(to, from) {
                mstore(to, shr(128, calldataload(from)))
                mstore(add(to, 0x20), calldataload(add(from, 0x10)))
            }
            function copy(to, from) {
                mcopy(to, from, 0x40)
            }
            function fmul(out, a, b) {
                let ah := mload(a)
                let al := mload(add(a, 0x20))
                let bh := mload(b)
                let bl := mload(add(b, 0x20))
                let m := mulmod(al, bl, not(0))
                let w0 := mul(al, bl)
                let w1 := sub(sub(m, w0), lt(m, w0))
                let t := mul(ah, bl)
                m := mulmod(ah, bl, not(0))
                let w2 := sub(sub(m, t), lt(m, t))
                w1 := add(w1, t)
                w2 := add(w2, lt(w1, t))
                t := mul(bh, al)
                m := mulmod(bh, al, not(0))
                w2 := add(w2, sub(sub(m, t), lt(m, t)))
                w1 := add(w1, t)
                w2 := add(add(w2, lt(w1, t)), mul(ah, bh))
                // The product is A + 2^384·B with A = w0 + 2^256·ah, B = bl + 2^256·bh; add B·(2^128 + 2^96 − 2^32 + 1).
                bl := or(shr(128, w1), shl(128, w2))
                bh := shr(128, w2)
                ah := and(w1, 0xffffffffffffffffffffffffffffffff)
                t := mul(bl, 0xffffffffffffffff00000001)
                m := mulmod(bl, 0xffffffffffffffff00000001, not(0))
                w1 := add(add(ah, sub(sub(m, t), lt(m, t))), add(mul(bh, 0xffffffffffffffff00000001), shr(128, bl)))
                w0 := add(w0, t)
                w1 := add(w1, lt(w0, t))
                t := shl(128, bl)
                w0 := add(w0, t)
                w1 := add(w1, lt(w0, t))
                // What stands above 2^384 once more.
                w2 := add(shr(128, w1), bh)
                w1 := and(w1, 0xffffffffffffffffffffffffffffffff)
                t := mul(w2, 0xffffffffffffffff00000001)
                w0 := add(w0, t)
                w1 := add(w1, lt(w0, t))
                t := shl(128, w2)
                w0 := add(w0, t)
                w1 := add(add(w1, lt(w0, t)), shr(128, w2))
                if shr(128, w1) {
                    w0 := add(w0, 0x100000000ffffffffffffffff00000001)
                    w1 :=
                        and(
                            add(w1, lt(w0, 0x100000000ffffffffffffffff00000001)),
                            0xffffffffffffffffffffffffffffffff
                        )
                }
                mstore(out, w1)
                mstore(add(out, 0x20), w0)
            }
            // out = k·a for k ≤ 8
            function fsmall(out, a, k) {
                let l := mload(add(a, 0x20))
                let h := mul(mload(a), k)
                let t := mul(l, k)
                let m := mulmod(l, k, not(0))
                h := add(h, sub(sub(m, t), lt(m, t)))
                for {} shr(128, h) {} {
                    m := mul(shr(128, h), 0x100000000ffffffffffffffff00000001)
                    t := add(t, m)
                    h := add(and(h, 0xffffffffffffffffffffffffffffffff), lt(t, m))
                }
                mstore(out, h)
                mstore(add(out, 0x20), t)
            }
            function fadd(out, a, b) {
                let l := mload(add(b, 0x20))
                let t := add(mload(add(a, 0x20)), l)
                let h := add(add(mload(a), mload(b)), lt(t, l))
                for {} shr(128, h) {} {
                    t := add(t, 0x100000000ffffffffffffffff00000001)
                    h :=
                        add(
                            and(h, 0xffffffffffffffffffffffffffffffff),
                            lt(t, 0x100000000ffffffffffffffff00000001)
                        )
                }
                mstore(out, h)
                mstore(add(out, 0x20), t)
            }
            function fsub(out, a, b) {
                let al := mload(add(a, 0x20))
                let bl := mload(add(b, 0x20))
                let h := sub(sub(mload(a), mload(b)), lt(al, bl))
                let l := sub(al, bl)
                for {} slt(h, 0) {} {
                    // + p, that is + 2^384 − (2^128 + 2^96 − 2^32 + 1)
                    h :=
                        sub(
                            add(h, 0x100000000000000000000000000000000),
                            lt(l, 0x100000000ffffffffffffffff00000001)
                        )
                    l := sub(l, 0x100000000ffffffffffffffff00000001)
                }
                mstore(out, h)
                mstore(add(out, 0x20), l)
            }
            // Whether a ≡ 0: a is below 2^384 < 2p, so it is 0 or p.
            function isZero(a) -> z {
                let h := mload(a)
                let l := mload(add(a, 0x20))
                z :=
                    or(
                        iszero(or(h, l)),
                        and(
                            eq(h, 0xffffffffffffffffffffffffffffffff),
                            eq(l, 0xfffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff)
                        )
                    )
            }
            // (X, Y, Z) doubled in place; a = −3 (hyperelliptic.org EFD, dbl-2001-b).
            function dbl() {
                fmul(0x10c0, 0x1080, 0x1080) // δ = Z²
                fmul(0x1100, 0x1040, 0x1040) // γ = Y²
                fmul(0x1140, 0x1000, 0x1100) // β = Xγ
                fsub(0x1180, 0x1000, 0x10c0)
                fadd(0x11c0, 0x1000, 0x10c0)
                fmul(0x1180, 0x1180, 0x11c0)
                fsmall(0x1180, 0x1180, 3) // α = 3(X − δ)(X + δ)
                fmul(0x1080, 0x1080, 0x1040)
                fsmall(0x1080, 0x1080, 2) // Z' = 2YZ
                fsmall(0x1140, 0x1140, 4)
                fmul(0x1000, 0x1180, 0x1180)
                fsmall(0x11c0, 0x1140, 2)
                fsub(0x1000, 0x1000, 0x11c0) // X' = α² − 8β
                fsub(0x1140, 0x1140, 0x1000)
                fmul(0x1040, 0x1180, 0x1140)
                fmul(0x1100, 0x1100, 0x1100)
                fsmall(0x1100, 0x1100, 8)
                fsub(0x1040, 0x1040, 0x1100) // Y' = α(4β − X') − 8γ²
            }
            // (X, Y, Z) += the affine point at q (x, then y).
            function addAffine(q) {
                if iszero(or(mload(0x1080), mload(0x10a0))) {
                    mcopy(0x1000, q, 0x80)
                    mstore(0x1080, 0)
                    mstore(0x10a0, 1)
                    leave
                }
                fmul(0x10c0, 0x1080, 0x1080) // Z²
                fmul(0x1100, q, 0x10c0)
                fsub(0x1100, 0x1100, 0x1000) // H
                fmul(0x1140, 0x1080, 0x10c0)
                fmul(0x1140, 0x1140, add(q, 0x40))
                fsub(0x1140, 0x1140, 0x1040) // R
                if isZero(0x1100) {
                    if isZero(0x1140) {
                        dbl()
                        leave
                    }
                    mstore(0x1080, 0)
                    mstore(0x10a0, 0)
                    leave
                }
                fmul(0x1080, 0x1080, 0x1100) // Z' = ZH
                fmul(0x1180, 0x1100, 0x1100) // H²
                fmul(0x11c0, 0x1180, 0x1100) // H³
                fmul(0x1180, 0x1180, 0x1000) // V = XH²
                fmul(0x1000, 0x1140, 0x1140)
                fsub(0x1000, 0x1000, 0x11c0)
                fsub(0x1000, 0x1000, 0x1180)
                fsub(0x1000, 0x1000, 0x1180) // X' = R² − H³ − 2V
                fsub(0x1180, 0x1180, 0x1000)
                fmul(0x1180, 0x1180, 0x1140)
                fmul(0x11c0, 0x11c0, 0x1040)
                fsub(0x1040, 0x1180, 0x11c0) // Y' = R(V − X') − YH³
            }
            // out = a^(m − 2) mod m, by the MODEXP precompile; `low` is the low word of m, the high 128 bits are ones.
            function invert(out, a, low) {
                mstore(0x1280, 48)
                mstore(0x12a0, 48)
                mstore(0x12c0, 48)
                mcopy(0x12e0, add(a, 0x10), 48)
                mstore(0x1310, not(0))
                mstore(0x1320, sub(low, 2))
                mstore(0x1340, not(0))
                mstore(0x1350, low)
                mstore(out, 0)
                if iszero(staticcall(gas(), 5, 0x1280, 0xf0, add(out, 0x10), 48)) { revert(0, 0) }
            }
            // out = a·b mod n: the 768-bit product reduced by MODEXP with exponent 1.
            function nmul(out, a, b) {
                let ah := mload(a)
                let al := mload(add(a, 0x20))
                let bh := mload(b)
                let bl := mload(add(b, 0x20))
                let m := mulmod(al, bl, not(0))
                let w0 := mul(al, bl)
                let w1 := sub(sub(m, w0), lt(m, w0))
                let t := mul(ah, bl)
                m := mulmod(ah, bl, not(0))
                let w2 := sub(sub(m, t), lt(m, t))
                w1 := add(w1, t)
                w2 := add(w2, lt(w1, t))
                t := mul(bh, al)
                m := mulmod(bh, al, not(0))
                w2 := add(w2, sub(sub(m, t), lt(m, t)))
                w1 := add(w1, t)
                w2 := add(add(w2, lt(w1, t)), mul(ah, bh))
                mstore(0x1280, 96)
                mstore(0x12a0, 1)
                mstore(0x12c0, 48)
                mstore(0x12e0, w2)
                mstore(0x1300, w1)
                mstore(0x1320, w0)
                mstore8(0x1340, 1)
                mstore(0x1341, not(0))
                mstore(0x1351, 0xffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973)
                mstore(out, 0)
                if iszero(staticcall(gas(), 5, 0x1280, 0xf1, add(out, 0x10), 48)) { revert(0, 0) }
            }
            // Whether a is below the modulus whose high 128 bits are ones and whose low word is `low`.
            function below(a, low) -> z {
                z := or(lt(mload(a), 0xffffffffffffffffffffffffffffffff), lt(mload(add(a, 0x20)), low))
            }
            // Multiples 1…15 of Q at 0x2000 + 0x80·i, affine by one shared inversion.
            function fillTable() {
                mcopy(0x1000, 0x1540, 0x80)
                mstore(0x1080, 0)
                mstore(0x10a0, 1)
                mcopy(0x2080, 0x1000, 0x80)
                copy(0x2840, 0x1080)
                copy(0x2c40, 0x1080)
                for { let i := 2 } lt(i, 16) { i := add(i, 1) } {
                    switch i
                    case 2 { dbl() }
                    default { addAffine(0x1540) }
                    mcopy(add(0x2000, shl(7, i)), 0x1000, 0x80)
                    copy(add(0x2800, shl(6, i)), 0x1080)
                    fmul(add(0x2c00, shl(6, i)), add(0x2bc0, shl(6, i)), 0x1080)
                }
                invert(0x1200, 0x2fc0, 0xfffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff)
                for { let i := 15 } gt(i, 1) { i := sub(i, 1) } {
                    let point := add(0x2000, shl(7, i))
                    fmul(0x10c0, 0x1200, add(0x2bc0, shl(6, i))) // 1/Z
                    fmul(0x1200, 0x1200, add(0x2800, shl(6, i)))
                    fmul(0x1100, 0x10c0, 0x10c0)
                    fmul(point, point, 0x1100)
                    fmul(0x1100, 0x1100, 0x10c0)
                    fmul(add(point, 0x40), add(point, 0x40), 0x1100)
                }
            }
            function onCurve() -> z {
                fmul(0x10c0, 0x1540, 0x1540)
                fmul(0x10c0, 0x10c0, 0x1540)
                fsmall(0x1100, 0x1540, 3)
                fsub(0x10c0, 0x10c0, 0x1100)
                mstore(0x1100, 0xb3312fa7e23ee7e4988e056be3f82d19)
                mstore(0x1120, 0x181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef)
                fadd(0x10c0, 0x10c0, 0x1100)
                fmul(0x1100, 0x1580, 0x1580)
                fsub(0x10c0, 0x10c0, 0x1100)
                z := isZero(0x10c0)
            }
            // Nibble i of the scalar at a, nibble 95 the highest.
            function nibble(a, i) -> v {
                switch gt(i, 63)
                case 1 { v := and(shr(shl(2, sub(i, 64)), mload(a)), 15) }
                default { v := and(shr(shl(2, i), mload(add(a, 0x20))), 15) }
            }
            // (X, Y, Z) = u1·G + u2·Q
            function multiply() {
                mstore(0x1080, 0)
                mstore(0x10a0, 0)
                for { let i := 96 } i {} {
                    i := sub(i, 1)
                    if or(mload(0x1080), mload(0x10a0)) {
                        dbl()
                        dbl()
                        dbl()
                        dbl()
                    }
                    let v := nibble(0x1480, i)
                    if v { addAffine(add(0x2f80, shl(7, v))) }
                    v := nibble(0x14c0, i)
                    if v { addAffine(add(0x2000, shl(7, v))) }
                }
            }
            // Whether X / Z² ≡ the number at a.
            function isAffineX(a) -> z {
                fmul(0x10c0, 0x1080, 0x1080)
                fmul(0x10c0, 0x10c0, a)
                fsub(0x10c0, 0x10c0, 0x1000)
                z := isZero(0x10c0)
            }

            load(0x1480, hash.offset)
            load(0x1400, signature.offset)
            load(0x1440, add(signature.offset, 48))
            load(0x1540, publicKey.offset)
            load(0x1580, add(publicKey.offset, 48))
            {
                let n := 0xffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973
                let p := 0xfffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff
                ok := and(below(0x1400, n), below(0x1440, n))
                ok := and(ok, iszero(iszero(or(mload(0x1400), mload(0x1420)))))
                ok := and(ok, iszero(iszero(or(mload(0x1440), mload(0x1460)))))
                ok := and(ok, and(below(0x1540, p), below(0x1580, p)))
            }
            if ok { ok := onCurve() }
            if ok {
                invert(0x1500, 0x1440, 0xffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973)
                nmul(0x1480, 0x1480, 0x1500)
                nmul(0x14c0, 0x1400, 0x1500)
                mcopy(0x3000, add(table, 0x20), 1920)
                fillTable()
                multiply()
                ok := iszero(iszero(or(mload(0x1080), mload(0x10a0))))
            }
            if ok {
                ok := isAffineX(0x1400)
                if iszero(ok) {
                    // r + n, where that is still below p
                    if and(iszero(mload(0x1400)), lt(mload(0x1420), 0x389cb27e0bc8d21fa7e5f24cb74f58851313e696333ad68c)) {
                        let n := 0xffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973
                        let l := add(mload(0x1420), n)
                        mstore(0x1400, add(0xffffffffffffffffffffffffffffffff, lt(l, n)))
                        mstore(0x1420, l)
                        ok := isAffineX(0x1400)
                    }
                }
            }
        }
    }
}
