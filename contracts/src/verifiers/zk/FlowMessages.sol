// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {CARRIES, LOW, P, ROOM, SYMBOLS} from "./Lanes.sol";
import {Ext} from "./Ext.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {STEP_NONCANONICAL} from "./ZkErrors.sol";

/// F0 to F7 as the transcript sees them: which messages come before which challenge (libs/zk/SPEC.md §5, §7).
/// Challenges are kept in one list so that the point of every sumcheck lies in consecutive words.
library FlowMessages {
    using Transcript for Reader;

    uint256 private constant MASKED_ROUND = 0x05;

    /// @return list z_S α β · per GKR layer λ μ ρ… (no μ at the leaves) · γ ρ… · γ γ_class ρ… · γ ρ… · τ… · ρ…
    function read(Reader memory r, Plan memory p) internal pure returns (uint256[] memory list, uint256 eta) {
        unchecked {
            uint256 layers = p.lookupVars;
            uint256 size = 7 + p.oodPoints + layers * (layers + 3) / 2 + productVars(p) + matmulVars(p) + p.stepVars + p.batchVars + 2
                * p.slotVars;
            list = new uint256[](size);
            uint256 next;
            assembly ("memory-safe") {
                next := add(list, 32)
            }
            for (uint256 k; k < p.oodPoints; ++k) {
                next = _draw(r, next, 0x01);
            }
            _skip(r, p.oodPoints);
            next = _draw(r, next, 0x02);
            next = _draw(r, next, 0x03);
            r.receive_();
            for (uint256 j; j + 1 < layers; ++j) {
                uint256 lambda = next;
                _draw(r, lambda, 0x04);
                next = _rounds(r, lambda + 64, j);
                _skip(r, 4);
                _draw(r, lambda + 32, 0x06);
            }
            next = _draw(r, next, 0x04);
            next = _rounds(r, next, layers - 1);
            _skip(r, p.hidden);
            _skip(r, p.plainLow ? 2 : 4);
            uint256 products = p.layers - 1 + (p.squaredError ? 0 : 2 * p.pieces + 1);
            if (products != 0) {
                next = _draw(r, next, 0x07);
                next = _rounds(r, next, productVars(p));
                _skip(r, 2 * products);
            }
            next = _draw(r, next, 0x08);
            next = _draw(r, next, 0x09);
            next = _rounds(r, next, matmulVars(p));
            _skip(r, 2 * (2 * p.layers - 1));
            next = _draw(r, next, 0x0a);
            next = _rounds(r, next, p.stepVars + p.batchVars);
            _skip(r, 2 * (p.stepVars == 0 ? p.layers : 3 * p.layers - 1));
            for (uint256 k; k < p.slotVars; ++k) {
                next = _draw(r, next, 0x0b);
            }
            next = _rounds(r, next, p.slotVars);
            _skip(r, 2);
            eta = r.challenge(0x0c);
        }
    }

    /// Place of ρ of F1 in that list.
    function leafPlace(Plan memory p) internal pure returns (uint256) {
        unchecked {
            uint256 above = p.lookupVars - 1;
            return p.oodPoints + 3 + 2 * above + above * (above - 1) / 2;
        }
    }

    function productVars(Plan memory p) internal pure returns (uint256 most) {
        unchecked {
            for (uint256 l = 1; l < p.layers; ++l) {
                most = _max(most, Ext.get(p.widthVars, l));
            }
            for (uint256 k; k < p.pieces && !p.squaredError; ++k) {
                most = _max(most, ZkPlan.word(p.piecesAt, 2 * k + 1));
            }
            most += p.stepVars + p.batchVars;
        }
    }

    function matmulVars(Plan memory p) internal pure returns (uint256 most) {
        unchecked {
            uint256 last = p.layers == 1 ? 0 : p.layers;
            for (uint256 l; l <= last; ++l) {
                most = _max(most, Ext.get(p.widthVars, l));
            }
            most += p.stepVars;
        }
    }

    function _max(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
    }

    function _draw(Reader memory r, uint256 to, uint256 tag) private pure returns (uint256) {
        unchecked {
            Ext.put(to, 0, r.challenge(tag));
            return to + 32;
        }
    }

    /// A round is two messages and a challenge. Where the proof has all of them, one buffer is hashed again and again.
    function _rounds(Reader memory r, uint256 to, uint256 count) private pure returns (uint256) {
        unchecked {
            (uint256 buffer, uint256 pos) = (r.buffer, r.cursor);
            if (r.pending != 0 || pos + 32 * count > r.end) return _roundsOneByOne(r, to, count);
            bool good;
            assembly ("memory-safe") {
                let carry := 0
                let state := mload(buffer)
                mstore8(add(buffer, 64), MASKED_ROUND)
                for { let end := add(pos, shl(5, count)) } lt(pos, end) { pos := add(pos, 32) } {
                    let odd := calldataload(pos)
                    mstore(add(buffer, 32), odd)
                    carry := or(carry, or(add(and(shr(64, odd), SYMBOLS), ROOM), add(and(odd, SYMBOLS), ROOM)))
                    state := keccak256(buffer, 65)
                    mstore(buffer, state)
                    mstore(to, or(mod(shr(128, state), P), shl(128, mod(and(state, LOW), P))))
                    to := add(to, 32)
                }
                good := iszero(and(carry, CARRIES))
            }
            if (!good) revert STEP_NONCANONICAL();
            r.cursor = pos;
            return to;
        }
    }

    function _roundsOneByOne(Reader memory r, uint256 to, uint256 count) private pure returns (uint256) {
        unchecked {
            for (uint256 k; k < count; ++k) {
                _skip(r, 2);
                to = _draw(r, to, MASKED_ROUND);
            }
            return to;
        }
    }

    /// Messages whose values are read again later.
    function _skip(Reader memory r, uint256 count) private pure {
        r.receiveUnread(count);
    }
}
