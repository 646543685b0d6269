// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {CARRIES, ROOM, SYMBOLS} from "./Lanes.sol";
import {STEP_NONCANONICAL, STEP_POW, STEP_PROOF_LENGTH} from "./ZkErrors.sol";

/// Fiat–Shamir over keccak-256 and the reader of the proof, which goes together with it (libs/zk/SPEC.md §5, §10).
struct Reader {
    uint256 buffer; // state, then what was absorbed since
    uint256 pending;
    uint256 cursor; // calldata
    uint256 end;
}

library Transcript {
    bytes32 private constant START = keccak256("fxt-zk/1");
    uint256 private constant POW = 0x20;

    /// @param most bytes absorbed between two challenges
    function start(uint256 most, uint256 pos, uint256 end) internal pure returns (Reader memory r) {
        unchecked {
            r.buffer = Ext.allocate(4 + most / 32);
            Ext.put(r.buffer, 0, uint256(START));
            r.cursor = pos;
            r.end = end;
        }
    }

    function absorb(Reader memory r, uint256 pos, uint256 length) internal pure {
        unchecked {
            uint256 to = r.buffer + 32 + r.pending;
            assembly ("memory-safe") {
                calldatacopy(to, pos, length)
            }
            r.pending += length;
        }
    }

    function absorbWord(Reader memory r, uint256 value) internal pure {
        unchecked {
            uint256 to = r.buffer + 32 + r.pending;
            assembly ("memory-safe") {
                mstore(to, value)
            }
            r.pending += 32;
        }
    }

    function absorbElement(Reader memory r, uint256 value) internal pure {
        unchecked {
            absorbWord(r, (value << 192) | (value >> 128 << 128));
            r.pending -= 16;
        }
    }

    function draw(Reader memory r, uint256 tag) internal pure returns (uint256 state) {
        (uint256 buffer, uint256 pending) = (r.buffer, r.pending);
        assembly ("memory-safe") {
            mstore8(add(add(buffer, 32), pending), tag)
            state := keccak256(buffer, add(33, pending))
            mstore(buffer, state)
        }
        r.pending = 0;
    }

    function challenge(Reader memory r, uint256 tag) internal pure returns (uint256) {
        return Ext.fromDigest(draw(r, tag));
    }

    /// Moves past `length` bytes of the proof and returns where they start.
    function take(Reader memory r, uint256 length) internal pure returns (uint256 pos) {
        unchecked {
            pos = r.cursor;
            if (pos + length > r.end) revert STEP_PROOF_LENGTH();
            r.cursor = pos + length;
        }
    }

    /// The next message, absorbed.
    function receive_(Reader memory r) internal pure returns (uint256 value) {
        unchecked {
            uint256 pos = take(r, 16);
            value = element(pos);
            uint256 to = r.buffer + 32 + r.pending;
            assembly ("memory-safe") {
                calldatacopy(to, pos, 16)
            }
            r.pending += 16;
        }
    }

    /// The next `count` messages, absorbed, into `to`.
    function receiveMany(Reader memory r, uint256 count, uint256 to) internal pure {
        unchecked {
            uint256 pos = r.cursor;
            if (pos + 16 * count > r.end) {
                elements(pos, (r.end - pos) / 16, to);
                revert STEP_PROOF_LENGTH();
            }
            elements(pos, count, to);
            absorb(r, pos, 16 * count);
            r.cursor = pos + 16 * count;
        }
    }

    /// The next `count` messages, absorbed: their values are read again later.
    function receiveUnread(Reader memory r, uint256 count) internal pure returns (uint256 pos) {
        unchecked {
            pos = r.cursor;
            if (pos + 16 * count > r.end) {
                _requireCanonical(pos, (r.end - pos) / 16);
                revert STEP_PROOF_LENGTH();
            }
            _requireCanonical(pos, count);
            absorb(r, pos, 16 * count);
            r.cursor = pos + 16 * count;
        }
    }

    /// Two elements to a word, as in Leaves.
    function _requireCanonical(uint256 pos, uint256 count) private pure {
        bool good;
        assembly ("memory-safe") {
            let carry := 0
            let end := add(pos, shl(4, count))
            for { let last := sub(end, shl(4, and(count, 1))) } lt(pos, last) { pos := add(pos, 32) } {
                let w := calldataload(pos)
                carry := or(carry, or(add(and(shr(64, w), SYMBOLS), ROOM), add(and(w, SYMBOLS), ROOM)))
            }
            if lt(pos, end) {
                let w := shr(128, calldataload(pos))
                carry := or(carry, or(add(and(shr(64, w), SYMBOLS), ROOM), add(and(w, SYMBOLS), ROOM)))
            }
            good := iszero(and(carry, CARRIES))
        }
        if (!good) revert STEP_NONCANONICAL();
    }

    /// `count` canonical extension elements of the calldata into `to`.
    function elements(uint256 pos, uint256 count, uint256 to) internal pure {
        uint256 p = Ext.P;
        bool good = true;
        assembly ("memory-safe") {
            for { let end := add(pos, shl(4, count)) } lt(pos, end) { pos := add(pos, 16) } {
                let w := calldataload(pos)
                let c0 := shr(192, w)
                let c1 := and(shr(128, w), 0xffffffffffffffff)
                good := and(good, and(lt(c0, p), lt(c1, p)))
                mstore(to, or(c0, shl(128, c1)))
                to := add(to, 32)
            }
        }
        if (!good) revert STEP_NONCANONICAL();
    }

    /// The extension element at a calldata position, canonical.
    function element(uint256 pos) internal pure returns (uint256 value) {
        uint256 p = Ext.P;
        bool bad;
        assembly ("memory-safe") {
            let w := shr(128, calldataload(pos))
            let c0 := shr(64, w)
            let c1 := and(w, 0xffffffffffffffff)
            bad := or(iszero(lt(c0, p)), iszero(lt(c1, p)))
            value := or(c0, shl(128, c1))
        }
        if (bad) revert STEP_NONCANONICAL();
    }

    /// `bits` leading zero bits of keccak(seed ‖ nonce); nothing when `bits` is 0.
    function grind(Reader memory r, uint256 bits) internal pure {
        unchecked {
            if (bits == 0) return;
            uint256 seed = draw(r, POW);
            uint256 pos = take(r, 8);
            uint256 hash;
            assembly ("memory-safe") {
                mstore(0, seed)
                mstore(32, calldataload(pos))
                hash := keccak256(0, 40)
            }
            // A shift by 256 − bits would take any hash for more than 256 bits.
            if (hash > type(uint256).max >> bits) revert STEP_POW();
            absorb(r, pos, 8);
        }
    }

    /// `count` draws from [0, 2^bits), sorted, without duplicates.
    function indices(Reader memory r, uint256 tag, uint256 count, uint256 bits)
        internal
        pure
        returns (uint256 list, uint256 size)
    {
        unchecked {
            list = Ext.allocate(count);
            uint256 digest;
            for (uint256 i; i < count; ++i) {
                if (i % 8 == 0) digest = draw(r, tag);
                uint256 drawn = (digest >> (224 - 32 * (i % 8))) & ((1 << bits) - 1);
                assembly ("memory-safe") {
                    let place := 0
                    for { let end := size } lt(place, end) {} {
                        let middle := shr(1, add(place, end))
                        switch lt(mload(add(list, shl(5, middle))), drawn)
                        case 0 { end := middle }
                        default { place := add(middle, 1) }
                    }
                    let behind := shl(5, sub(size, place))
                    place := add(list, shl(5, place))
                    if iszero(and(gt(behind, 0), eq(mload(place), drawn))) {
                        mcopy(add(place, 32), place, behind)
                        mstore(place, drawn)
                        size := add(size, 1)
                    }
                }
            }
        }
    }
}
