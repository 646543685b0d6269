// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Sha2} from "./Sha2.sol";

/// RSASSA-PSS, 4096 bits, exponent 65537, SHA-384, MGF1-SHA-384, salt of 48 bytes (RFC 8017 §8.1.2, §9.1.2).
library RsaPss {
    uint256 private constant SIZE = 512;
    uint256 private constant HASH = 48;
    uint256 private constant DB = SIZE - HASH - 1;
    uint256 private constant PADDING = DB - HASH - 1;

    /// @param hash SHA-384 of the message, 48 bytes
    function verify(bytes memory hash, bytes calldata signature, bytes calldata modulus) internal view returns (bool) {
        if (hash.length != HASH || signature.length != SIZE || modulus.length != SIZE) return false;
        if (!_below(signature, modulus)) return false;
        bytes memory encoded = _power(signature, modulus);
        // emBits = 4095: the top bit is clear.
        if (encoded[0] >= 0x80 || encoded[SIZE - 1] != 0xbc) return false;
        bytes memory seed = new bytes(HASH);
        assembly ("memory-safe") {
            mcopy(add(seed, 0x20), add(add(encoded, 0x20), 463), 48)
        }
        _unmask(encoded, seed);
        uint256 dirt;
        for (uint256 i = 0; i < PADDING; ++i) dirt |= uint8(encoded[i]);
        if (dirt != 0 || encoded[PADDING] != 0x01) return false;
        bytes memory salted = new bytes(8 + 2 * HASH);
        assembly ("memory-safe") {
            mcopy(add(salted, 0x28), add(hash, 0x20), 48)
            mcopy(add(salted, 0x58), add(add(encoded, 0x20), 415), 48)
        }
        return keccak256(Sha2.sha384(salted)) == keccak256(seed);
    }

    /// The first 463 bytes of `encoded` ^= MGF1(seed), the top bit cleared.
    function _unmask(bytes memory encoded, bytes memory seed) private pure {
        bytes memory counted = new bytes(HASH + 4);
        assembly ("memory-safe") {
            mcopy(add(counted, 0x20), add(seed, 0x20), 48)
        }
        for (uint256 i = 0; i * HASH < DB; ++i) {
            counted[HASH + 3] = bytes1(uint8(i));
            bytes memory mask = Sha2.sha384(counted);
            uint256 length = DB - i * HASH;
            if (length > HASH) length = HASH;
            for (uint256 k = 0; k < length; ++k) encoded[i * HASH + k] ^= mask[k];
        }
        encoded[0] &= 0x7f;
    }

    function _power(bytes calldata base, bytes calldata modulus) private view returns (bytes memory out) {
        out = new bytes(SIZE);
        assembly ("memory-safe") {
            let m := mload(0x40)
            mstore(m, 512)
            mstore(add(m, 0x20), 3)
            mstore(add(m, 0x40), 512)
            calldatacopy(add(m, 0x60), base.offset, 512)
            mstore(add(m, 0x260), shl(232, 65537))
            calldatacopy(add(m, 0x263), modulus.offset, 512)
            if iszero(staticcall(gas(), 5, m, 0x463, add(out, 0x20), 512)) { revert(0, 0) }
        }
    }

    function _below(bytes calldata a, bytes calldata b) private pure returns (bool) {
        for (uint256 i = 0; i < SIZE; i += 32) {
            bytes32 x = bytes32(a[i:i + 32]);
            bytes32 y = bytes32(b[i:i + 32]);
            if (x != y) return x < y;
        }
        return false;
    }
}
