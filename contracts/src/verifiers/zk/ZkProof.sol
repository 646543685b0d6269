// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {LOW, P} from "./Lanes.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Leaves} from "./Leaves.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {Relation} from "./Relation.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {STEP_FINAL_CHECK, STEP_PROOF_LENGTH} from "./ZkErrors.sol";

/// The argument itself over a context and three commitments (libs/zk/SPEC.md §7 to §11). All randomness is drawn and
/// all openings are checked first, in the order of the bytes; then one value is computed for what the flow claims.
library ZkProof {
    using Transcript for Reader;

    struct Opening {
        uint256[] challenges; // of the flow
        uint256 eta;
        uint256 point; // rows, then level-1 rows and columns: the point of Ω is this without the first level-1 row
        uint256 strip; // M of §8
        uint256 rowTable;
        uint256 masked; // Σ d(ρ − ½) + e(ρ² − ρ) over the row rounds
        uint256 u;
        uint256 delta;
        uint256 z1;
        uint256 v1;
        uint256 beta1;
        uint256 beta2;
        uint256 level1; // as `masked`, over the level-1 row rounds
        uint256 columns; // over the column rounds
        uint256 g;
    }

    uint256 private constant PROOF_BYTES_MAX = 4 * 1024 * 1024;

    /// The bytes that a check needs; `plan` is the parsed form of `planBytes`.
    struct Input {
        bytes32 context;
        Relation.Commitment[3] known;
        ZkRelation relation;
    }

    /// Reverts with the code of the first check that fails.
    /// @param sizes m_t, one byte per step
    function check(
        Plan memory p,
        Input memory input,
        bytes calldata planBytes,
        bytes calldata sizes,
        bytes calldata proof
    ) internal pure {
        if (proof.length > PROOF_BYTES_MAX) revert STEP_PROOF_LENGTH();
        Reader memory r = _start(p, proof);
        bytes32 witnessRoot = _bind(r, p, input, sizes);
        Opening memory o;
        uint256 flowAt = r.cursor;
        (o.challenges, o.eta) = FlowMessages.read(r, p);
        uint256 flowEnd = r.cursor;
        _foldRows(r, p, o);
        Leaves.Queries memory q;
        Leaves.Queries memory q1;
        _open(r, p, o, Leaves.Roots(input.known[0].root, input.known[1].root, witnessRoot, input.known[2].root), q, q1);
        bytes calldata messages;
        assembly ("memory-safe") {
            messages.offset := flowAt
            messages.length := sub(flowEnd, flowAt)
        }
        (uint256 target, uint256 omega) =
            input.relation.reduce(planBytes, sizes, messages, input.known, o.challenges, o.eta, _omegaPoint(p, o));
        _finish(r, p, o, q, q1, target, omega);
    }

    function _start(Plan memory p, bytes calldata proof) private pure returns (Reader memory) {
        unchecked {
            uint256 pos;
            assembly ("memory-safe") {
                pos := proof.offset
            }
            return Transcript.start(1024 + (16 << (p.m - p.k1)), pos, pos + proof.length);
        }
    }

    /// Absorbs context, commitments and m_t (§5).
    /// @return root of the witness in the separate variant, where the proof starts with it
    function _bind(Reader memory r, Plan memory p, Input memory input, bytes calldata sizes)
        private
        pure
        returns (bytes32 root)
    {
        unchecked {
            uint256 pos;
            if (!p.joint) {
                pos = r.take(32);
                root = _word(pos);
            }
            r.absorbWord(uint256(input.context));
            for (uint256 i; i < 3; ++i) {
                r.absorbWord(uint256(input.known[i].root));
                r.absorbElement(input.known[i].ood);
            }
            if (!p.joint) r.absorbWord(uint256(root));
            assembly ("memory-safe") {
                pos := sizes.offset
            }
            r.absorb(pos, sizes.length);
        }
    }

    function _word(uint256 pos) private pure returns (bytes32 w) {
        assembly ("memory-safe") {
            w := calldataload(pos)
        }
    }

    /// Rounds in mean form at ½; their points are stored from `to` on.
    function _rounds(Reader memory r, uint256 tag, uint256 count, uint256 bits, uint256 to)
        private
        pure
        returns (uint256 sum)
    {
        unchecked {
            for (uint256 k; k < count; ++k) {
                (uint256 d, uint256 e) = (r.receive_(), r.receive_());
                r.grind(bits);
                uint256 rho = r.challenge(tag);
                sum = Ext.add(sum, Ext.round(d, e, rho, Ext.HALF));
                Ext.put(to, k, rho);
            }
        }
    }

    /// §8: binds the row variables, then the mask row.
    function _foldRows(Reader memory r, Plan memory p, Opening memory o) private pure {
        unchecked {
            uint256 rows = p.vars - p.m;
            o.point = Ext.allocate(p.vars + 1);
            o.masked = _rounds(r, 0x0d, rows, p.grindFold, o.point);
            o.u = r.receive_();
            r.grind(p.grindFold);
            o.delta = r.challenge(0x0e);
            o.strip = Ext.allocate(2 * rows);
            for (uint256 j; j < rows; ++j) {
                uint256 rho = Ext.get(o.point, j);
                Ext.put(o.strip, 2 * j, Ext.sub(rho, Ext.HALF));
                Ext.put(o.strip, 2 * j + 1, Ext.sub(Ext.mul(rho, rho), rho));
            }
            o.rowTable = Ext.eqTable(o.point, rows);
        }
    }

    /// §9.2 up to the column rounds.
    function _open(
        Reader memory r,
        Plan memory p,
        Opening memory o,
        Leaves.Roots memory roots,
        Leaves.Queries memory q,
        Leaves.Queries memory q1
    ) private pure {
        unchecked {
            uint256 columnVars = p.m - p.k1;
            uint256 pos = r.take(32);
            r.absorb(pos, 32);
            bytes32 root1 = _word(pos);
            o.z1 = r.challenge(0x0f);
            o.v1 = r.receive_();
            r.grind(p.grind0);
            (q.indices, q.size) = r.indices(0x10, p.queries0, p.m + p.logBlowup);
            Leaves.open(r, p, roots, q, o.rowTable, o.delta);
            o.beta1 = r.challenge(0x11);
            uint256 level1 = o.point + 32 * (p.vars - p.m);
            o.level1 = _rounds(r, 0x12, p.k1 + 1, p.grindFold1, level1);
            o.g = Ext.allocate(1 << columnVars);
            r.receiveMany(1 << columnVars, o.g);
            r.grind(p.grind1);
            (q1.indices, q1.size) = r.indices(0x13, p.queries1, columnVars + p.logBlowup1);
            Leaves.openLevel1(r, p, root1, q1, Ext.eqTable(level1, p.k1 + 1));
            o.beta2 = r.challenge(0x14);
            o.columns = _rounds(r, 0x15, columnVars, 0, level1 + 32 * (p.k1 + 1));
        }
    }

    /// The end point without the coordinate that tells the folded rows from the others.
    function _omegaPoint(Plan memory p, Opening memory o) private pure returns (uint256[] memory point) {
        unchecked {
            point = new uint256[](p.vars);
            (uint256 from, uint256 rows, uint256 rest) = (o.point, p.vars - p.m, p.m);
            assembly ("memory-safe") {
                let to := add(point, 32)
                mcopy(to, from, shl(5, rows))
                mcopy(add(to, shl(5, rows)), add(from, shl(5, add(rows, 1))), shl(5, rest))
            }
        }
    }

    /// g~(ρ_col)·Ω_1(ρ_row, ρ_col) against the claim that the rounds left.
    function _finish(
        Reader memory r,
        Plan memory p,
        Opening memory o,
        Leaves.Queries memory q,
        Leaves.Queries memory q1,
        uint256 target,
        uint256 omega
    ) private pure {
        unchecked {
            uint256 rowVars = p.vars - p.m;
            uint256 columnVars = p.m - p.k1;
            uint256 columns = o.point + 32 * (rowVars + p.k1 + 1);
            uint256 claim = Ext.add(Ext.scale(target, Ext.inversePow2(p.vars)), o.masked);
            claim = Ext.add(o.u, Ext.mul(o.delta, Ext.scale(claim, Ext.pow2(p.m))));
            claim = Ext.add(claim, Ext.mul(o.beta1, o.v1));
            (uint256 added, uint256 weights) = _queries(p, o, q);
            claim = Ext.add(claim, added);
            weights = Ext.add(weights, _fixedWeights(p, o, omega));
            claim = Ext.add(Ext.scale(claim, Ext.inversePow2(p.m + 1)), o.level1);
            (added, rowVars) = _level1Queries(p, o, q1, columns);
            claim = Ext.add(claim, Ext.scale(added, Ext.inversePow2(columnVars)));
            weights = Ext.add(weights, rowVars);
            claim = Ext.add(claim, o.columns);
            if (Ext.mul(Ext.evaluate(o.g, columns, columnVars), weights) != claim) revert STEP_FINAL_CHECK();
            if (r.cursor != r.end) revert STEP_PROOF_LENGTH();
        }
    }

    /// Ω on the folded rows, the strip and the out-of-domain point of level 1 (§9.3).
    function _fixedWeights(Plan memory p, Opening memory o, uint256 omega) private pure returns (uint256 sum) {
        unchecked {
            uint256 level1 = o.point + 32 * (p.vars - p.m);
            uint256 columns = level1 + 32 * (p.k1 + 1);
            sum = Ext.mul(Ext.sub(Ext.ONE, Ext.get(level1, 0)), omega);
            uint256 strip = Ext.eqIndex(level1, p.k1 + 1, (1 << p.k1) + p.randomRows);
            uint256 pads = _strip(p, o, columns);
            sum = Ext.add(sum, Ext.scale(Ext.mul(strip, pads), Ext.pow2(p.m)));
            return Ext.add(sum, Ext.mul(o.beta1, Ext.powerWeight(o.z1, level1, p.m + 1)));
        }
    }

    /// ⟨M, eq(columns, ·)⟩: the strip fills the lowest places only.
    function _strip(Plan memory p, Opening memory o, uint256 columns) private pure returns (uint256) {
        unchecked {
            uint256 size = 2 * (p.vars - p.m);
            uint256 bits = ZkPlan.log2Ceil(size);
            uint256 high = p.m - p.k1 - bits;
            uint256 low = Ext.dot(o.strip, Ext.eqTable(columns + 32 * high, bits), size);
            return Ext.mul(low, Ext.eqIndex(columns, high, 0));
        }
    }

    /// What the queries of level 0 add to the claim and to the weights.
    function _queries(Plan memory p, Opening memory o, Leaves.Queries memory q)
        private
        pure
        returns (uint256 claim, uint256 weights)
    {
        unchecked {
            uint256 level1 = o.point + 32 * (p.vars - p.m);
            uint256 rowVars = p.k1 + 1;
            uint256 special = Ext.allocate(p.randomRows + 1); // eq of each random row, then of the strip
            for (uint256 i; i <= p.randomRows; ++i) {
                Ext.put(special, i, Ext.eqIndex(level1, rowVars, (1 << p.k1) + i));
            }
            uint256 strip = Ext.get(special, p.randomRows);
            uint256 isData = Ext.sub(Ext.ONE, Ext.get(level1, 0));
            uint256 roots = _rootsByBit(p.m, p.logBlowup);
            uint256 weight = Ext.mul(o.beta1, o.beta1);
            for (uint256 k; k < q.size; ++k) {
                uint256 y = _domainPoint(Ext.get(q.indices, k), roots);
                (uint256 onColumns, uint256 step) = _basePower(y, level1 + 32 * rowVars, p.m - p.k1);
                (uint256 row, uint256 power) = _basePower(step, level1 + 32, p.k1);
                row = Ext.mul(isData, row);
                for (uint256 i; i < p.randomRows; ++i) {
                    row = Ext.add(row, Ext.scale(Ext.get(special, i), power));
                    power = mulmod(power, step, Ext.P);
                }
                claim = Ext.add(claim, Ext.mul(weight, Ext.get(q.rows, k)));
                row = Ext.mul(weight, row);
                weight = Ext.mul(weight, o.beta1);
                claim = Ext.add(claim, Ext.mul(weight, Ext.get(q.strips, k)));
                row = Ext.add(row, Ext.mul(weight, strip));
                weight = Ext.mul(weight, o.beta1);
                weights = Ext.add(weights, Ext.mul(row, onColumns));
            }
        }
    }

    function _level1Queries(Plan memory p, Opening memory o, Leaves.Queries memory q, uint256 columns)
        private
        pure
        returns (uint256 claim, uint256 weights)
    {
        unchecked {
            uint256 columnVars = p.m - p.k1;
            uint256 roots = _rootsByBit(columnVars, p.logBlowup1);
            uint256 weight = o.beta2;
            for (uint256 k; k < q.size; ++k) {
                (uint256 own,) = _basePower(_domainPoint(Ext.get(q.indices, k), roots), columns, columnVars);
                claim = Ext.add(claim, Ext.mul(weight, Ext.get(q.rows, k)));
                weights = Ext.add(weights, Ext.mul(weight, own));
                weight = Ext.mul(weight, o.beta2);
            }
        }
    }

    /// Π_k (1 + ρ_k·(y^{2^{n−1−k}} − 1)) for y ≠ 0 in the base field, and y^{2^n}.
    function _basePower(uint256 y, uint256 point, uint256 n) private pure returns (uint256 result, uint256 power) {
        assembly ("memory-safe") {
            result := 1
            for { let at := add(point, shl(5, n)) } gt(at, point) {} {
                at := sub(at, 32)
                let v := mul(mload(at), sub(y, 1))
                let h := mul(result, mod(shr(128, v), P))
                let l := mul(result, mod(add(and(v, LOW), 1), P))
                result := or(
                    mod(add(and(l, LOW), mul(7, shr(128, h))), P),
                    shl(128, mod(add(shr(128, l), and(h, LOW)), P))
                )
                y := mulmod(y, y, P)
            }
            power := y
        }
    }

    /// What each bit of an index multiplies a point of the domain by (§9.1), bit 0 first: ω_{2^{m+R}}^{2^i} for bit m + i
    /// and, since positions are in reversed order of bits, ω_{2^m}^{2^{m−1−i}} for bit i.
    function _rootsByBit(uint256 m, uint256 logBlowup) private pure returns (uint256 list) {
        unchecked {
            uint256 root = 0x185629dcda58878c;
            for (uint256 i = 32; i > m + logBlowup; --i) {
                root = mulmod(root, root, Ext.P);
            }
            list = Ext.allocate(m + logBlowup);
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
    function _domainPoint(uint256 index, uint256 roots) private pure returns (uint256 y) {
        assembly ("memory-safe") {
            y := 7
            for {} index { index := shr(1, index) } {
                if and(index, 1) { y := mulmod(y, mload(roots), P) }
                roots := add(roots, 32)
            }
        }
    }
}
