// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// SHA-384 and SHA-512 (FIPS 180-4). A 64-bit word x is rotated right by shifting x ‖ x once. The high bits of sums are
/// left dirty until a word is stored, as carries only travel upwards.
library Sha2 {
    bytes private constant K =
        hex"428a2f98d728ae227137449123ef65cdb5c0fbcfec4d3b2fe9b5dba58189dbbc"
        hex"3956c25bf348b53859f111f1b605d019923f82a4af194f9bab1c5ed5da6d8118"
        hex"d807aa98a303024212835b0145706fbe243185be4ee4b28c550c7dc3d5ffb4e2"
        hex"72be5d74f27b896f80deb1fe3b1696b19bdc06a725c71235c19bf174cf692694"
        hex"e49b69c19ef14ad2efbe4786384f25e30fc19dc68b8cd5b5240ca1cc77ac9c65"
        hex"2de92c6f592b02754a7484aa6ea6e4835cb0a9dcbd41fbd476f988da831153b5"
        hex"983e5152ee66dfaba831c66d2db43210b00327c898fb213fbf597fc7beef0ee4"
        hex"c6e00bf33da88fc2d5a79147930aa72506ca6351e003826f142929670a0e6e70"
        hex"27b70a8546d22ffc2e1b21385c26c9264d2c6dfc5ac42aed53380d139d95b3df"
        hex"650a73548baf63de766a0abb3c77b2a881c2c92e47edaee692722c851482353b"
        hex"a2bfe8a14cf10364a81a664bbc423001c24b8b70d0f89791c76c51a30654be30"
        hex"d192e819d6ef5218d69906245565a910f40e35855771202a106aa07032bbd1b8"
        hex"19a4c116b8d2d0c81e376c085141ab532748774cdf8eeb9934b0bcb5e19b48a8"
        hex"391c0cb3c5c95a634ed8aa4ae3418acb5b9cca4f7763e373682e6ff3d6b2b8a3"
        hex"748f82ee5defb2fc78a5636f43172f6084c87814a1f0ab728cc702081a6439ec"
        hex"90befffa23631e28a4506cebde82bde9bef9a3f7b2c67915c67178f2e372532b"
        hex"ca273eceea26619cd186b8c721c0c207eada7dd6cde0eb1ef57d4f7fee6ed178"
        hex"06f067aa72176fba0a637dc5a2c898a6113f9804bef90dae1b710b35131c471b"
        hex"28db77f523047d8432caab7b40c724933c9ebe0a15c9bebc431d67c49c100d4c"
        hex"4cc5d4becb3e42b6597f299cfc657e2a5fcb6fab3ad6faec6c44198c4a475817"
        hex"0000000000000000000000000000000000000000000000000000000000000000"; // ends the table

    /// @return digest 48 bytes
    function sha384(bytes memory data) internal pure returns (bytes memory digest) {
        digest = _hash(
            data,
            0xcbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939,
            0x67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4
        );
        assembly ("memory-safe") {
            mstore(digest, 48)
        }
    }

    /// @return digest 64 bytes
    function sha512(bytes memory data) internal pure returns (bytes memory digest) {
        digest = _hash(
            data,
            0x6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1,
            0x510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179
        );
    }

    function _hash(bytes memory data, bytes32 high, bytes32 low) private pure returns (bytes memory digest) {
        bytes memory table = K;
        bytes memory padded = _pad(data);
        digest = new bytes(64);
        assembly ("memory-safe") {
            // w: 80 schedule words, then the slots k, state, message, end. Everything but the eight working words is
            // reached through w, which the rounds move to the slots: the stack holds no more.
            function compress(w) {
                {
                    let message := mload(add(w, 2624))
                    for { let i := 0 } lt(i, 16) { i := add(i, 1) } {
                        mstore(add(w, shl(5, i)), shr(192, mload(add(message, shl(3, i)))))
                    }
                    let end := add(w, 2560)
                    for { let p := add(w, 512) } lt(p, end) { p := add(p, 0x20) } {
                        let x := mload(sub(p, 480))
                        let d := or(x, shl(64, x))
                        let t := xor(xor(shr(1, d), shr(8, d)), shr(7, x))
                        x := mload(sub(p, 64))
                        d := or(x, shl(64, x))
                        t := add(t, xor(xor(shr(19, d), shr(61, d)), shr(6, x)))
                        t := add(t, add(mload(sub(p, 512)), mload(sub(p, 224))))
                        mstore(p, and(t, 0xffffffffffffffff))
                    }
                }
                let k := mload(add(w, 2560))
                let a := mload(mload(add(w, 2592)))
                let e := mload(add(mload(add(w, 2592)), 0x20))
                let b := and(shr(128, a), 0xffffffffffffffff)
                let c := and(shr(64, a), 0xffffffffffffffff)
                let d := and(a, 0xffffffffffffffff)
                a := shr(192, a)
                let f := and(shr(128, e), 0xffffffffffffffff)
                let g := and(shr(64, e), 0xffffffffffffffff)
                let h := and(e, 0xffffffffffffffff)
                e := shr(192, e)
                for {} 1 {} {
                    let t := shr(192, mload(k))
                    if iszero(t) { break }
                    k := add(k, 8)
                    t := add(add(t, mload(w)), h)
                    w := add(w, 0x20)
                    h := or(e, shl(64, e))
                    t := add(t, xor(xor(shr(14, h), shr(18, h)), shr(41, h)))
                    t := add(t, xor(g, and(e, xor(f, g))))
                    h := g
                    g := f
                    f := e
                    e := and(add(d, t), 0xffffffffffffffff)
                    d := or(a, shl(64, a))
                    t := add(t, xor(xor(shr(28, d), shr(34, d)), shr(39, d)))
                    t := add(t, or(and(a, b), and(c, or(a, b))))
                    d := c
                    c := b
                    b := a
                    a := and(t, 0xffffffffffffffff)
                }
                k := mload(add(w, 0x20))
                mstore(k, addLanes(mload(k), a, b, c, d))
                k := add(k, 0x20)
                mstore(k, addLanes(mload(k), e, f, g, h))
            }
            function addLanes(word, a, b, c, d) -> out {
                out := and(add(word, d), 0xffffffffffffffff)
                out := or(out, shl(64, and(add(shr(64, word), c), 0xffffffffffffffff)))
                out := or(out, shl(128, and(add(shr(128, word), b), 0xffffffffffffffff)))
                out := or(out, shl(192, add(shr(192, word), a)))
            }
            mstore(add(digest, 0x20), high)
            mstore(add(digest, 0x40), low)
            {
                let w := mload(0x40)
                mstore(add(w, 2560), add(table, 0x20))
                mstore(add(w, 2592), add(digest, 0x20))
                mstore(add(w, 2624), add(padded, 0x20))
                mstore(add(w, 2656), add(add(padded, 0x20), mload(padded)))
            }
            for {} lt(mload(add(mload(0x40), 2624)), mload(add(mload(0x40), 2656))) {} {
                compress(mload(0x40))
                mstore(add(mload(0x40), 2624), add(mload(add(mload(0x40), 2624)), 128))
            }
        }
    }

    /// data ‖ 0x80 ‖ zeros ‖ length in bits, a multiple of 128 bytes.
    function _pad(bytes memory data) private pure returns (bytes memory padded) {
        uint256 size = (data.length + 17 + 127) / 128 * 128;
        padded = new bytes(size);
        assembly ("memory-safe") {
            let length := mload(data)
            mcopy(add(padded, 0x20), add(data, 0x20), length)
            mstore8(add(add(padded, 0x20), length), 0x80)
            // The last word was zero or ends in the 0x80 marker's zeros: the length is at most 64 bits.
            let last := add(padded, size)
            mstore(last, or(mload(last), shl(3, length)))
        }
    }
}
