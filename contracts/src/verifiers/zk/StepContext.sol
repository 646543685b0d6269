// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {Plan, TREE_D} from "./ZkPlan.sol";
import {Relation} from "./Relation.sol";
import {MERKLE_INDEX, MERKLE_PATH, ORDER_TOO_FEW_RECORDS, STEP_STATEMENT} from "./ZkErrors.sol";

/// A committed matrix: root, and the out-of-domain value as u128be(c0) ‖ u128be(c1).
struct TreeCommitment {
    bytes32 root;
    bytes32 ood;
}

/// What a job fixes for all its segments. Its digest with the planDigest is the specDigest of the job's terms.
struct StepSpec {
    bytes32 jobSpec; // digest of the whole job specification; free of meaning here
    bytes32 manifestDigest;
    bytes32 datasetRoot;
    bytes32 seed;
    uint256 steps;
    uint256 recordCount;
    uint256[] schedule; // (first step) << 8 | m, ascending
}

/// The statement and its context (libs/zk/SPEC.md §2.2).
library StepContext {
    bytes32 private constant SPEC = keccak256("fxt-zk/spec/1");
    bytes32 private constant STEP = keccak256("fxt-step/1");
    bytes32 private constant UNIT = keccak256("fxt-step/2");
    bytes32 private constant WEIGHTS = keccak256("fxt-weights/1");
    bytes32 private constant DATA = keccak256("fxt-data/1");
    bytes32 private constant LAYOUT = keccak256("fxt-zk/layout/1");
    bytes32 private constant ORDER = keccak256("fxt/order/v1");

    function specDigest(StepSpec calldata s, bytes32 planDigest) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                SPEC,
                s.jobSpec,
                planDigest,
                s.manifestDigest,
                s.datasetRoot,
                s.seed,
                s.steps,
                s.recordCount,
                keccak256(abi.encodePacked(s.schedule))
            )
        );
    }

    /// m_t of one byte per step must be those of the schedule, 0 beyond the job's last step.
    function requireSizes(StepSpec calldata s, uint256 firstStep, bytes calldata sizes) internal pure {
        uint256 entry;
        uint256 m = 1;
        uint256 end = firstStep + sizes.length;
        for (uint256 step = firstStep; step < end;) {
            while (entry < s.schedule.length && s.schedule[entry] >> 8 <= step) m = s.schedule[entry++] & 0xff;
            bool isNull = step >= s.steps;
            uint256 next = end;
            if (!isNull && s.steps < next) next = s.steps;
            if (!isNull && entry < s.schedule.length && s.schedule[entry] >> 8 < next) next = s.schedule[entry] >> 8;
            if (!_areAll(sizes[step - firstStep:next - firstStep], isNull ? 0 : m)) revert STEP_STATEMENT();
            step = next;
        }
    }

    /// Whether each byte of a part of the calldata is `value`.
    function _areAll(bytes calldata part, uint256 value) private pure returns (bool) {
        unchecked {
            uint256 differ;
            assembly ("memory-safe") {
                let all := mul(value, div(not(0), 255))
                let pos := part.offset
                let end := add(pos, part.length)
                for {} lt(add(pos, 31), end) { pos := add(pos, 32) } { differ := or(differ, xor(calldataload(pos), all)) }
                let unused := shl(3, sub(32, sub(end, pos)))
                if lt(pos, end) { differ := or(differ, shr(unused, xor(calldataload(pos), all))) }
            }
            return differ == 0;
        }
    }

    /// The superblock that a segment trains on.
    /// @param records of one superblock
    function superblockOf(StepSpec calldata s, uint256 records, uint256 index) internal pure returns (uint256) {
        uint256 n = _superblocks(s, records);
        (uint256 alpha, uint256 beta) = _orderOf(s.seed, n, index / n);
        return _placeOf(alpha, beta, n, index);
    }

    function _superblocks(StepSpec calldata s, uint256 records) private pure returns (uint256 n) {
        n = s.recordCount / records;
        if (n == 0) revert ORDER_TOO_FEW_RECORDS();
    }

    function _placeOf(uint256 alpha, uint256 beta, uint256 n, uint256 index) private pure returns (uint256) {
        return ((alpha * (index % n)) % n + beta) % n;
    }

    /// The affine order of `n` superblocks in an epoch (libs/step/SPEC.md §9).
    function _orderOf(bytes32 seed, uint256 n, uint256 epoch) private pure returns (uint256 alpha, uint256 beta) {
        alpha = 1 + ((_word(seed, 2 * epoch) * n) >> 64);
        while (_gcd(alpha, n) != 1) alpha = alpha == n ? 1 : alpha + 1;
        beta = (_word(seed, 2 * epoch + 1) * n) >> 64;
    }

    /// The superblocks that `count` segments from `first` on read. Those of a unit must be the words that it states, of a
    /// set that has room in one commitment (libs/zk/SPEC.md §20).
    /// @param statedAt calldata position of these words
    /// @return place of the commitment to the data among those of the set
    /// @return order the superblock, or the digest of those of a unit
    function superblocksOf(StepSpec calldata s, uint256 records, uint256 first, uint256 count, uint256 statedAt)
        internal
        pure
        returns (uint256 place, bytes32 order)
    {
        uint256 n = _superblocks(s, records);
        unchecked {
            uint256 list = Ext.allocate(count);
            (uint256 alpha, uint256 beta) = _orderOf(s.seed, n, first / n);
            for (uint256 j; j < count; ++j) {
                uint256 index = first + j;
                if (j != 0 && index % n == 0) (alpha, beta) = _orderOf(s.seed, n, index / n);
                place = _placeOf(alpha, beta, n, index);
                Ext.put(list, j, place);
                uint256 stated = place;
                if (count != 1) {
                    assembly ("memory-safe") {
                        stated := calldataload(add(statedAt, shl(5, j)))
                    }
                }
                if (stated != place) revert STEP_STATEMENT();
            }
            if (count == 1) return (place, bytes32(place));
            if (n > count) revert STEP_STATEMENT();
            assembly ("memory-safe") {
                place := 0
                order := keccak256(list, shl(5, count))
            }
        }
    }

    function _word(bytes32 seed, uint256 i) private pure returns (uint256) {
        uint256 group = uint256(keccak256(abi.encodePacked(ORDER, seed, uint64(i / 4))));
        return (group >> (192 - 64 * (i % 4))) & type(uint64).max;
    }

    function _gcd(uint256 a, uint256 b) private pure returns (uint256) {
        while (b != 0) (a, b) = (b, a % b);
        return a;
    }

    /// Reverts unless `digest` is leaf `index` of the registered data.
    function requireMember(bytes32 root, bytes32 digest, uint256 index, bytes32[] calldata path) internal pure {
        if (path.length > 31 || index >> path.length != 0) revert MERKLE_INDEX();
        bytes32 node = keccak256(abi.encodePacked(uint8(1), digest));
        for (uint256 h; h < path.length; ++h) {
            node = (index >> h) & 1 == 1
                ? keccak256(abi.encodePacked(path[h], node))
                : keccak256(abi.encodePacked(node, path[h]));
        }
        if (node != root) revert MERKLE_PATH();
    }

    /// With two points outside the domain the word is the hash of both values, which the proof shows.
    function known(TreeCommitment calldata c, uint256 oodPoints) internal pure returns (Relation.Commitment memory) {
        if (oodPoints == 2) return Relation.Commitment(c.root, uint256(c.ood), 0);
        uint256 c0 = uint256(c.ood) >> 128;
        uint256 c1 = uint256(c.ood) & type(uint128).max;
        if (c0 >= Ext.P || c1 >= Ext.P) revert STEP_STATEMENT();
        return Relation.Commitment(c.root, c0 | (c1 << 128), 0);
    }

    function weightsDigest(TreeCommitment calldata c, bytes32 layoutHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(WEIGHTS, c.root, c.ood, layoutHash));
    }

    function dataDigest(TreeCommitment calldata c, bytes32 layoutHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(DATA, c.root, c.ood, layoutHash));
    }

    /// Binds everything that a commitment's bytes depend on besides its cells (libs/zk/SPEC.md §2.1).
    function layoutDigest(Plan memory p, uint256 tree) internal pure returns (bytes32 digest) {
        uint256 t = p.randomRows << (p.m - p.k1);
        bytes memory head = abi.encodePacked(
            LAYOUT,
            uint32(Ext.get(p.trees, 4 * tree)),
            uint32(p.m),
            uint32(p.logBlowup),
            uint32(t),
            uint32(p.digestBytes),
            uint32(Ext.get(p.trees, 4 * tree + 1)),
            _copy(p.widthsAt, 4 * (p.layers + 2))
        );
        if (tree == TREE_D) {
            head = _with(_with(head, 1 << (p.stepVars - p.segmentVars)), p.batch);
        }
        head = abi.encodePacked(head, _copy(Ext.get(p.layouts, 2 * tree), Ext.get(p.layouts, 2 * tree + 1)));
        bool inputsFirst = tree == TREE_D && p.inputsFirst;
        bool isWhole = tree == TREE_D && p.segmentVars != 0;
        if (p.oodPoints == 2 || inputsFirst || isWhole) head = _with(head, p.oodPoints);
        if (inputsFirst || isWhole) head = _with(head, inputsFirst ? 1 : 0);
        if (isWhole) head = _with(head, 1 << p.stepVars);
        return keccak256(head);
    }

    function _with(bytes memory head, uint256 word) private pure returns (bytes memory) {
        return abi.encodePacked(head, uint32(word));
    }

    function _copy(uint256 pos, uint256 length) private pure returns (bytes memory part) {
        part = new bytes(length);
        assembly ("memory-safe") {
            calldatacopy(add(part, 32), pos, length)
        }
    }

    /// @param order superblock, or the digest of several
    /// @param w digests of the weights before and after
    function contextDigest(
        StepSpec calldata s,
        bool isUnit,
        bytes32 statement,
        uint256 firstStep,
        bytes32 order,
        bytes32 planDigest,
        bytes32 data,
        bytes calldata sizes,
        bytes32[2] memory w
    ) internal pure returns (bytes32) {
        bytes32 schedule = keccak256(sizes);
        return keccak256(
            abi.encodePacked(
                abi.encode(isUnit ? UNIT : STEP, statement, firstStep, sizes.length, s.manifestDigest, planDigest),
                abi.encode(s.datasetRoot, order, data, schedule, w[0], w[1])
            )
        );
    }
}
