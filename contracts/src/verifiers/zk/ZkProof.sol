// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Domain} from "./Domain.sol";
import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Leaves} from "./Leaves.sol";
import {Level, Plan, ZkPlan, TREE_D, TREE_S, TREE_W0, TREE_WT} from "./ZkPlan.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {Relation} from "./Relation.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {
    STEP_FINAL_CHECK,
    STEP_MERKLE_D,
    STEP_MERKLE_J,
    STEP_MERKLE_W0,
    STEP_MERKLE_WT,
    STEP_PROOF_LENGTH,
    STEP_STATEMENT
} from "./ZkErrors.sol";

/// The argument itself over a context and three commitments (libs/zk/SPEC.md §7 to §11). All randomness is drawn and
/// all openings are checked first, in the order of the bytes; then one value is computed for what the flow claims.
/// How the levels are opened is left to the contract: with their leaves, or in two parts.
abstract contract ZkProof {
    using Transcript for Reader;

    struct Opening {
        uint256[] challenges; // of the flow
        uint256 eta;
        uint256 point; // rows, then those of the levels and columns: that of Ω is this without the first row of level 1
        uint256 strip; // M of §8
        uint256 rowTable;
        uint256 masked; // Σ d(ρ − ½) + e(ρ² − ρ) over the row rounds
        uint256 u;
        uint256 delta;
        uint256 beta1;
        uint256 columns; // as `masked`, over the column rounds
        uint256 gAt; // the vector in the clear: a calldata position
        Leaves.Queries queries; // the first
        uint256 witnessRoot; // in the separate variant
        uint256 witness; // hashes of its opened leaves
        Opened[] levels;
    }

    /// A level as the proof shows it.
    struct Opened {
        Level level;
        bytes32 root;
        uint256 points; // outside the domain
        uint256 outside; // those points
        uint256 values; // of the vector there
        uint256 start; // where the point of the vector begins, its rows' coordinates first
        uint256 rounds; // as `masked`, over the row rounds
        Leaves.Queries queries;
        uint256 beta; // powers of it weigh the values outside the domain of the next level, then the queries to this one
    }

    uint256 private constant PROOF_BYTES_MAX = 4 * 1024 * 1024;

    /// The bytes that a check needs; `plan` is the parsed form of `planBytes`.
    struct Input {
        bytes32 context;
        Relation.Commitment[3] known;
        ZkRelation relation;
    }

    /// Reverts with the code of the first check that fails.
    /// @param sizes m_t, one byte per step; of a unit then the superblock that each segment reads, a word each
    function _prove(Plan memory p, Input memory input, bytes calldata planBytes, bytes calldata sizes, bytes calldata proof)
        internal view returns (Opening memory o) {
        if (proof.length > PROOF_BYTES_MAX) revert STEP_PROOF_LENGTH();
        Reader memory r = _start(p, proof);
        o.witnessRoot = uint256(_bind(r, p, input, sizes));
        uint256 flowAt = r.cursor;
        (o.challenges, o.eta) = FlowMessages.read(r, p);
        uint256 flowEnd = r.cursor;
        _foldRows(r, p, o);
        _open(r, p, o, input.known);
        bytes calldata messages;
        assembly ("memory-safe") { messages.offset := flowAt messages.length := sub(flowEnd, flowAt) }
        (uint256 target, uint256 omega) =
            input.relation.reduce(planBytes, sizes, messages, input.known, o.challenges, o.eta, _omegaPoint(p, o));
        _finish(r, p, o, target, omega);
    }

    function _start(Plan memory p, bytes calldata proof) private pure returns (Reader memory) {
        unchecked {
            uint256 pos;
            assembly ("memory-safe") { pos := proof.offset }
            Level[] memory levels = ZkPlan.levels(p);
            uint256 most = 2048 + (1 << p.stepVars) + 32 * p.hidden + (16 << levels[levels.length - 1].columnVars);
            return Transcript.start(most, pos, pos + proof.length);
        }
    }

    /// Absorbs context, commitments and m_t (§5).
    /// @return root of the witness in the separate variant, where the proof starts with it
    function _bind(Reader memory r, Plan memory p, Input memory input, bytes calldata sizes)
        private pure returns (bytes32 root) {
        unchecked {
            uint256 pos;
            if (!p.joint) { pos = r.take(32); root = _word(pos); }
            r.absorbWord(uint256(input.context));
            if (p.oodPoints == 2) _showValues(r, input);
            for (uint256 i; i < 3; ++i) {
                r.absorbWord(uint256(input.known[i].root));
                r.absorbElement(input.known[i].ood);
                if (p.oodPoints == 2) r.absorbElement(input.known[i].ood2);
            }
            if (!p.joint) r.absorbWord(uint256(root));
            assembly ("memory-safe") { pos := sizes.offset }
            r.absorb(pos, 1 << p.stepVars);
        }
    }

    /// Two values for each commitment, in the place of the hash of their words (§2.1).
    function _showValues(Reader memory r, Input memory input) private pure {
        unchecked {
            for (uint256 i; i < 3; ++i) {
                Relation.Commitment memory c = input.known[i];
                uint256 word = c.ood;
                c.ood = Transcript.element(r.take(16));
                c.ood2 = Transcript.element(r.take(16));
                if (uint256(keccak256(abi.encode(_stated(c.ood), _stated(c.ood2)))) != word) revert STEP_STATEMENT();
            }
        }
    }

    /// u128be(c0) ‖ u128be(c1).
    function _stated(uint256 value) private pure returns (uint256) { return (value << 128) | (value >> 128); }

    function _word(uint256 pos) private pure returns (bytes32 w) {
        assembly ("memory-safe") { w := calldataload(pos) }
    }

    /// Rounds in mean form at ½; their points are stored from `to` on.
    function _rounds(Reader memory r, uint256 tag, uint256 count, uint256 bits, uint256 to)
        private pure returns (uint256 sum) {
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

    /// §9.2 and §9.4 up to the column rounds.
    function _open(Reader memory r, Plan memory p, Opening memory o, Relation.Commitment[3] memory known) private pure {
        unchecked {
            Level[] memory levels = ZkPlan.levels(p);
            uint256 points = levels.length == 1 ? 1 : p.oodPoints;
            o.levels = new Opened[](levels.length);
            uint256 start = o.point + 32 * (p.vars - p.m);
            for (uint256 i; i < levels.length; ++i) {
                Opened memory own = o.levels[i];
                (own.level, own.start) = (levels[i], start);
                _commit(r, own, points);
                if (i == 0) {
                    r.grind(p.grind0);
                    _openTrees(r, p, o, known);
                    o.beta1 = r.challenge(0x11);
                } else { _query(r, p, o.levels[i - 1], i); }
                own.rounds = _rounds(r, 0x12, own.level.rowVars, own.level.grindFold, start);
                start += 32 * own.level.rowVars;
            }
            Opened memory last = o.levels[levels.length - 1];
            uint256 columnVars = last.level.columnVars;
            o.gAt = r.receiveUnread(1 << columnVars);
            _query(r, p, last, levels.length);
            o.columns = _rounds(r, 0x15, columnVars, 0, start);
        }
    }

    /// Root of a level and its vector outside the domain.
    function _commit(Reader memory r, Opened memory own, uint256 points) private pure {
        unchecked {
            uint256 pos = r.take(32);
            r.absorb(pos, 32);
            own.root = _word(pos);
            (own.points, own.outside, own.values) = (points, Ext.allocate(points), Ext.allocate(points));
            for (uint256 k; k < points; ++k) { Ext.put(own.outside, k, r.challenge(0x0f)); }
            r.receiveMany(points, own.values);
        }
    }

    /// @param number of the level, from 1
    function _query(Reader memory r, Plan memory p, Opened memory own, uint256 number) private pure {
        unchecked {
            Level memory level = own.level;
            Leaves.Queries memory q = own.queries;
            r.grind(level.grind);
            (q.indices, q.size) = r.indices(0x13, level.queries, level.columnVars + level.logBlowup);
            _openLevel(r, p, own, number);
            own.beta = r.challenge(0x14);
        }
    }

    /// The leaves at the first queries, and the roots that they lead to.
    function _openTrees(Reader memory r, Plan memory p, Opening memory o, Relation.Commitment[3] memory known)
        private pure {
        unchecked {
            Leaves.Queries memory q = o.queries;
            uint256 depth = p.m + p.logBlowup;
            (q.indices, q.size) = r.indices(0x10, p.queries0, depth);
            uint256[4] memory hashes = Leaves.open(r, p, q, o.rowTable, o.delta);
            if (Leaves.rootOf(r, p, q, hashes[TREE_W0], depth) != uint256(known[0].root)) revert STEP_MERKLE_W0();
            if (Leaves.rootOf(r, p, q, hashes[TREE_WT], depth) != uint256(known[1].root)) {
                if (p.joint) revert STEP_MERKLE_J();
                revert STEP_MERKLE_WT();
            }
            o.witness = hashes[TREE_S];
            if (!p.joint) _openWitness(r, p, o);
            if (Leaves.rootOf(r, p, q, hashes[TREE_D], depth) != uint256(known[2].root)) revert STEP_MERKLE_D();
        }
    }

    /// That the opened leaves of the witness lead to its root, where it has a tree of its own.
    function _openWitness(Reader memory r, Plan memory p, Opening memory o) internal pure virtual;

    /// The rows at the queries to a level, into `own.queries.rows`.
    function _openLevel(Reader memory r, Plan memory p, Opened memory own, uint256 number) internal pure virtual;

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
        Reader memory r, Plan memory p, Opening memory o, uint256 target, uint256 omega
    ) private pure {
        unchecked {
            uint256 clear = _clear(o);
            uint256 claim = Ext.add(Ext.scale(target, Ext.inversePow2(p.vars)), o.masked);
            claim = Ext.add(o.u, Ext.mul(o.delta, Ext.scale(claim, Ext.pow2(p.m))));
            (uint256 added, uint256 weights) = _queries(p, o, o.queries);
            claim = Ext.add(claim, added);
            weights = Ext.add(weights, _fixedWeights(p, o, omega));
            claim = Ext.add(Ext.scale(claim, Ext.inversePow2(p.m + 1)), o.levels[0].rounds);
            for (uint256 i; i < o.levels.length; ++i) {
                bool isLast = i + 1 == o.levels.length;
                uint256 more;
                (added, more) = _levelQueries(o.levels[i], isLast ? o.levels[i] : o.levels[i + 1], isLast);
                weights = Ext.add(weights, more);
                claim = Ext.add(claim, Ext.scale(added, Ext.inversePow2(o.levels[i].level.columnVars)));
                claim = Ext.add(claim, isLast ? o.columns : o.levels[i + 1].rounds);
            }
            if (Ext.mul(clear, weights) != claim) revert STEP_FINAL_CHECK();
            if (r.cursor != r.end) revert STEP_PROOF_LENGTH();
        }
    }

    /// The vector in the clear at the end point.
    function _clear(Opening memory o) private pure returns (uint256) {
        unchecked {
            Opened memory last = o.levels[o.levels.length - 1];
            return Ext.evaluateElements(o.gAt, last.start + 32 * last.level.rowVars, last.level.columnVars);
        }
    }

    /// Ω on the folded rows, the strip and the points outside the domain of level 1 (§9.3).
    function _fixedWeights(Plan memory p, Opening memory o, uint256 omega) private pure returns (uint256 sum) {
        unchecked {
            Opened memory first = o.levels[0];
            uint256 level1 = first.start;
            uint256 columns = level1 + 32 * (p.k1 + 1);
            sum = Ext.mul(Ext.sub(Ext.ONE, Ext.get(level1, 0)), omega);
            uint256 strip = Ext.eqIndex(level1, p.k1 + 1, (1 << p.k1) + p.randomRows);
            uint256 pads = _strip(p, o, columns);
            sum = Ext.add(sum, Ext.scale(Ext.mul(strip, pads), Ext.pow2(p.m)));
            (uint256 ofPoints,) = _outside(first, o.beta1, p.m + 1);
            return Ext.add(sum, ofPoints);
        }
    }

    /// Σ β^{1+j}·(weights of the point z_j), and of the values there.
    function _outside(Opened memory own, uint256 beta, uint256 vars)
        private pure returns (uint256 weights, uint256 claim) {
        unchecked {
            uint256 power = beta;
            for (uint256 k; k < own.points; ++k) {
                (uint256 weight,) = Ext.powerWeight(Ext.get(own.outside, k), own.start, vars);
                weights = Ext.add(weights, Ext.mul(power, weight));
                claim = Ext.add(claim, Ext.mul(power, Ext.get(own.values, k)));
                power = Ext.mul(power, beta);
            }
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

    /// What queries of level 0 and values outside the domain of level 1 add to the claim, and the former to the weights.
    function _queries(Plan memory p, Opening memory o, Leaves.Queries memory q)
        private pure returns (uint256 claim, uint256 weights) {
        unchecked {
            uint256 level1 = o.levels[0].start;
            uint256 rowVars = p.k1 + 1;
            uint256 special = Ext.allocate(p.randomRows + 1); // eq of each random row, then of the strip
            for (uint256 i; i <= p.randomRows; ++i) {
                Ext.put(special, i, Ext.eqIndex(level1, rowVars, (1 << p.k1) + i));
            }
            uint256 isData = Ext.sub(Ext.ONE, Ext.get(level1, 0));
            uint256 table = Domain.table(p.m, p.logBlowup);
            uint256 ofColumns = Domain.powerTable(level1 + 32 * rowVars, p.m - p.k1);
            uint256 ofRows = Domain.powerTable(level1 + 32, p.k1);
            uint256 square = Ext.mul(o.beta1, o.beta1);
            uint256 strip = Ext.mul(o.beta1, Ext.get(special, p.randomRows));
            // Horner, from the last query.
            for (uint256 k = q.size; k > 0;) {
                --k;
                uint256 y = Domain.point(Ext.get(q.indices, k), table);
                (uint256 onColumns, uint256 step) = Domain.basePower(y, ofColumns, p.m - p.k1);
                (uint256 row, uint256 power) = Domain.basePower(step, ofRows, p.k1);
                row = Ext.add(strip, Ext.mul(isData, row));
                for (uint256 i; i < p.randomRows; ++i) {
                    row = Ext.add(row, Ext.scale(Ext.get(special, i), power));
                    power = mulmod(power, step, Ext.P);
                }
                weights = Ext.add(Ext.mul(weights, square), Ext.mul(row, onColumns));
                uint256 shown = Ext.add(Ext.get(q.rows, k), Ext.mul(o.beta1, Ext.get(q.strips, k)));
                claim = Ext.add(Ext.mul(claim, square), shown);
            }
            uint256 weight = _behind(o.beta1, o.levels[0].points);
            (, uint256 outside) = _outside(o.levels[0], o.beta1, 0);
            return (Ext.add(outside, Ext.mul(weight, claim)), Ext.mul(weight, weights));
        }
    }

    /// β^{1+points}: the weight of the first query, behind the points outside the domain.
    function _behind(uint256 beta, uint256 points) private pure returns (uint256 weight) {
        unchecked {
            weight = beta;
            for (uint256 k; k < points; ++k) { weight = Ext.mul(weight, beta); }
        }
    }

    /// What queries to a level and values outside the domain of the next add to the claim on its vector, and to weights.
    function _levelQueries(Opened memory own, Opened memory next, bool isLast)
        private pure returns (uint256 claim, uint256 weights) {
        unchecked {
            uint256 columnVars = own.level.columnVars;
            uint256 powers = Domain.powerTable(own.start + 32 * own.level.rowVars, columnVars);
            uint256 table = Domain.table(columnVars, own.level.logBlowup);
            for (uint256 k = own.queries.size; k > 0;) {
                --k;
                uint256 y = Domain.point(Ext.get(own.queries.indices, k), table);
                (uint256 ofQuery,) = Domain.basePower(y, powers, columnVars);
                claim = Ext.add(Ext.mul(claim, own.beta), Ext.get(own.queries.rows, k));
                weights = Ext.add(Ext.mul(weights, own.beta), ofQuery);
            }
            uint256 weight = _behind(own.beta, isLast ? 0 : next.points);
            (claim, weights) = (Ext.mul(weight, claim), Ext.mul(weight, weights));
            if (isLast) return (claim, weights);
            (uint256 ofPoints, uint256 outside) = _outside(next, own.beta, columnVars);
            return (Ext.add(claim, outside), Ext.add(weights, ofPoints));
        }
    }
}
