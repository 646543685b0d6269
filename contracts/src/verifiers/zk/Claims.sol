// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {LOW, P, PP} from "./Lanes.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Plan, ZkPlan, TREE_D, TREE_S, TREE_W0, TREE_WT} from "./ZkPlan.sol";
import {Transcript} from "./Transcript.sol";

/// What the flow of libs/zk/SPEC.md §7 comes to: ⟨Ω, w⟩ = target, with Ω evaluated at one point. Every constraint is
/// known to have the weight η^k before it is read, so each hidden value receives a weight instead of being a form: a
/// message m of weight w adds w·m to the constant and −w to the coefficient of its pad.
struct Flow {
    uint256 point; // of Ω: `vars` words
    uint256 challenges; // next
    uint256 messages; // calldata position of the next
    uint256 etas; // η^k
    uint256 k; // next constraint
    uint256 pads;
    uint256 padSum; // what whole blocks of pads come to at the point
    uint256 pad; // next general pad
    uint256 slot; // next product slot
    uint256 slots; // per slot: message position, weights of x, y, xy
    uint256 constant_;
    uint256 omega;
    uint256 selectors; // by block key, 0 until asked for
    uint256 sizesAt; // m_t, calldata bytes
    bool uniform; // they are all the same
    uint256 segmentSizes; // of the segments of a unit
    uint256 rowTable; // eq(ρ, ·) over the global rows
    uint256 hidden; // weights of the messages of F2
    uint256 hiddenAt; // their calldata position and first pad
    uint256 hiddenPad;
    uint256 back; // slots of the backward claims
    uint256 product; // point of F3
    uint256 gammaClass;
    uint256 leaf; // ρ of F1
    uint256 leafTails; // eq of its last k coordinates with those of the point, for every k; the same of F3
    uint256 productTails;
    uint256 beta;
    uint256 real; // Σ over the real samples at the point
    uint256 samples; // eq of the samples of F5 at the point, and over the real ones
    uint256 counted;
}

library Claims {
    using Claims for Flow;

    // Kinds of blocks (libs/zk/SPEC.md §2.1).
    uint256 internal constant A = 1;
    uint256 internal constant M = 2;
    uint256 internal constant L = 3;
    uint256 internal constant H = 4;
    uint256 internal constant G = 5;
    uint256 internal constant HP = 6;
    uint256 internal constant D = 7;
    uint256 internal constant HL = 8;
    uint256 internal constant EPS = 9;
    uint256 internal constant SEL = 10;
    uint256 internal constant GL = 11;
    uint256 internal constant SMALL = 12;
    uint256 internal constant MU = 13;
    uint256 internal constant IOTA = 14;
    uint256 internal constant HW = 15;
    uint256 internal constant HB = 16;
    uint256 internal constant PAD = 20;
    uint256 internal constant W0 = 21;
    uint256 internal constant B0 = 22;
    uint256 internal constant X = 24;
    uint256 internal constant Y = 25;
    uint256 internal constant LOGIT = 26;
    /// From weights before to those after every segment and after all of them.
    uint256 internal constant TO_ENDS = 6;
    uint256 internal constant TO_AFTER = 8;

    function width(Plan memory p, uint256 l) internal pure returns (uint256) {
        return Ext.get(p.widthVars, l);
    }

    function rowVars(Plan memory p) internal pure returns (uint256) {
        unchecked {
            return p.stepVars + p.batchVars;
        }
    }

    function tail(Flow memory f, Plan memory p, uint256 vars) internal pure returns (uint256) {
        unchecked {
            return f.point + 32 * (p.vars - vars);
        }
    }

    /// A block of `vars` variables. One word, so that the compiler makes no copy of what takes it for every kind.
    function blockOf(uint256 layer, uint256 kind, uint256 vars) internal pure returns (uint256) {
        unchecked {
            return (layer * 32 + kind) | (vars << 16);
        }
    }

    /// The weight of a block in the hypercube at the point.
    function selector(Flow memory f, Plan memory p, uint256 block_) internal pure returns (uint256 s) {
        unchecked {
            uint256 key = block_ & 0xffff;
            s = Ext.get(f.selectors, key);
            if (s != 0) return s;
            uint256 vars = block_ >> 16;
            s = Ext.eqPlace(f.rowTable, p.vars - p.m, f.point, p.vars - vars, (Ext.get(p.offsets, key) - 1) >> vars);
            Ext.put(f.selectors, key, s);
        }
    }

    /// A weight times the weight of its block.
    function part(Flow memory f, Plan memory p, uint256 block_, uint256 weight) internal pure returns (uint256) {
        return Ext.mul(weight, f.selector(p, block_));
    }

    /// Adds parts of blocks that share their axes.
    function addClaim(Flow memory f, uint256 parts, uint256 axes) internal pure {
        f.omega = Ext.add(f.omega, Ext.mul(parts, axes));
    }

    /// eq of the last k coordinates of a list of `length` words with those of the point, for every k.
    function tails(Flow memory f, Plan memory p, uint256 list, uint256 length) internal pure returns (uint256) {
        unchecked {
            return Ext.eqTails(list + 32 * length, f.tail(p, 0), length < p.vars ? length : p.vars);
        }
    }

    /// The indicator of an aligned class piece: the fixed class bits of [c, t, b] blocks of `vars` variables.
    function piece(Flow memory f, Plan memory p, uint256 k, uint256 vars) internal pure returns (uint256) {
        unchecked {
            uint256 bits = ZkPlan.word(p.piecesAt, 2 * k + 1);
            uint256 fixedBits = width(p, p.layers) - bits;
            return Ext.eqIndex(f.tail(p, vars), fixedBits, ZkPlan.word(p.piecesAt, 2 * k) >> bits);
        }
    }

    /// Σ over the real classes.
    function realClasses(Flow memory f, Plan memory p, uint256 vars) internal pure returns (uint256 sum) {
        unchecked {
            for (uint256 k; k < p.pieces; ++k) {
                sum = Ext.add(sum, f.piece(p, k, vars));
            }
        }
    }

    function scale(Plan memory p, uint256 layer, uint256 i) internal pure returns (uint256) {
        unchecked {
            return ZkPlan.word(p.scalesAt, 5 * (layer - 1) + i);
        }
    }

    /// Place of Z of a class piece among the messages of F2.
    function logitMessage(Plan memory p, uint256 k) internal pure returns (uint256) {
        unchecked {
            return 2 * (p.layers - 1) + p.perPiece * k;
        }
    }

    // ── messages ────────────────────────────────────────────────────────────────────────────────────────────────

    function next(Flow memory f) internal pure returns (uint256 value) {
        unchecked {
            value = Ext.get(f.challenges, 0);
            f.challenges += 32;
        }
    }

    /// A message without pad.
    function clear(Flow memory f) internal pure returns (uint256 value) {
        unchecked {
            value = Transcript.element(f.messages);
            f.messages += 16;
        }
    }

    function eta(Flow memory f, uint256 k) internal pure returns (uint256) {
        return Ext.get(f.etas, k);
    }

    /// The weight of the next constraint.
    function require_(Flow memory f) internal pure returns (uint256) {
        unchecked {
            return Ext.get(f.etas, f.k++);
        }
    }

    function addConstant(Flow memory f, uint256 value) internal pure {
        f.constant_ = Ext.add(f.constant_, value);
    }

    function addTo(uint256 list, uint256 i, uint256 value) internal pure {
        Ext.put(list, i, Ext.add(Ext.get(list, i), value));
    }

    /// The next general message, of a given weight.
    function masked(Flow memory f, uint256 weight) internal pure {
        unchecked {
            f.addConstant(Ext.mul(weight, f.clear()));
            Ext.put(f.pads, f.pad++, Ext.neg(weight));
        }
    }

    /// The rounds of a sumcheck whose final claim has this weight; its first claim then has it too. Whoever gives the
    /// messages has found them canonical.
    /// @return point of the final claim
    function sumcheck(Flow memory f, uint256 pos, uint256 count, uint256 weight) internal pure returns (uint256 point) {
        unchecked {
            point = f.challenges;
            uint256 pads = f.pads + 32 * f.pad;
            _roundWeights(pads, point, pos, count, Ext.neg(weight));
            (, uint256 sum) = Ext.dotElements(f.messages, 2 * count, pads);
            f.addConstant(Ext.neg(sum));
            f.messages += 32 * count;
            f.pad += 2 * count;
            f.challenges += 32 * count;
        }
    }

    /// What weighs d and e of every round: ρ − r and ρ² − ρ, times `weight`.
    /// @param pos point of the claim before, or 0: r = ½
    function _roundWeights(uint256 to, uint256 point, uint256 pos, uint256 count, uint256 weight) private pure {
        uint256 half = Ext.HALF;
        assembly ("memory-safe") {
            function times(a, b) -> c {
                let l := mul(a, and(b, LOW))
                let h := mul(a, shr(128, b))
                c := or(
                    mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                    shl(128, mod(add(shr(128, l), and(h, LOW)), P))
                )
            }
            for { let end := add(point, shl(5, count)) } lt(point, end) { point := add(point, 32) } {
                let rho := mload(point)
                let r := half
                if pos {
                    r := mload(pos)
                    pos := add(pos, 32)
                }
                let x := sub(add(rho, PP), r)
                mstore(to, times(weight, or(mod(and(x, LOW), P), shl(128, mod(shr(128, x), P)))))
                // ρ·(ρ − 1)
                x := times(rho, or(mod(add(and(rho, LOW), sub(P, 1)), P), shl(128, shr(128, rho))))
                mstore(add(to, 32), times(weight, x))
                to := add(to, 64)
            }
        }
    }

    /// The next product of hidden values; its weights may grow until `closeSlots`.
    function multiply(Flow memory f, uint256 x, uint256 y, uint256 xy) internal pure returns (uint256 slot) {
        unchecked {
            slot = f.slot++;
            uint256 pos = f.slots + 128 * slot;
            Ext.put(pos, 0, f.messages);
            Ext.put(pos, 1, x);
            Ext.put(pos, 2, y);
            Ext.put(pos, 3, xy);
            f.messages += 32;
        }
    }

    function closeSlots(Flow memory f, Plan memory p) internal pure {
        unchecked {
            uint256 K = 1 << p.slotVars;
            for (uint256 i; i < f.slot; ++i) {
                uint256 pos = f.slots + 128 * i;
                uint256 x = Transcript.element(Ext.get(pos, 0));
                uint256 y = Transcript.element(Ext.get(pos, 0) + 16);
                (uint256 wx, uint256 wy, uint256 w) = (Ext.get(pos, 1), Ext.get(pos, 2), Ext.get(pos, 3));
                uint256 wOfY = Ext.mul(w, y);
                f.addConstant(Ext.add(Ext.mul(Ext.add(wOfY, wx), x), Ext.mul(wy, y)));
                addTo(f.pads, i, Ext.neg(Ext.add(wOfY, wx)));
                addTo(f.pads, K + i, Ext.neg(Ext.add(Ext.mul(w, x), wy)));
                addTo(f.pads, 2 * K + i, w);
            }
        }
    }
}
