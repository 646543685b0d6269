// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../../interfaces/IStepVerifier.sol";
import {FACT_MISSING, SEAL_LENGTH, SEAL_SELECTOR, SPLIT_LATE, SPLIT_NONE, SPLIT_REST} from "../../Errors.sol";
import {Ext} from "./Ext.sol";
import {Leaves} from "./Leaves.sol";
import {Reader, Transcript} from "./Transcript.sol";
import {Level, Plan} from "./ZkPlan.sol";
import {ZkProofHead} from "./ZkProofHead.sol";
import {STEP_MERKLE_S, STEP_PROOF_LENGTH, refuseLevel} from "./ZkErrors.sol";

/// Proofs that do not fit one transaction, verified in two: `begin` checks all but the opened leaves of the levels and the
/// paths of a witness with a tree of its own, and keeps one word for what these must give, `finish` checks them. From then on the statement is a fact that anybody may
/// refer to, as those of ProofFacts. contracts/SPEC.md §11.
contract ZkSplitVerifier is IStepVerifier {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/zk/fxt-zk/1/split"));
    /// Between the two parts.
    uint256 public constant WINDOW = 1 days;

    ZkProofHead public immutable head;

    mapping(bytes32 statementDigest => bool) public facts;
    /// Until when a first part may be finished; the place binds chain, contract, sender, statement and what is left.
    mapping(bytes32 place => uint256) private _until;

    event ProofBegun(bytes32 indexed statementDigest, address indexed sender, bytes32 rest, uint256 until);
    event FactProved(bytes32 indexed statementDigest);

    constructor(ZkProofHead head_) {
        head = head_;
    }

    /// @param seal selector and StepSeal, whose proof has for each opened leaf of a level the row that it gives
    function begin(bytes calldata seal, bytes32 statementDigest) external {
        bytes32 rest = head.head(seal, statementDigest);
        uint256 until = block.timestamp + WINDOW;
        _until[_place(statementDigest, rest)] = until;
        emit ProofBegun(statementDigest, msg.sender, rest, until);
    }

    /// @param rest     roots, sizes, points, places and hashes that the first part left open, packed: contracts/SPEC.md §11
    /// @param openings siblings of the witness, leaves and siblings of the levels, in the order of the proof
    function finish(bytes32 statementDigest, bytes calldata rest, bytes calldata openings) external {
        bytes32 place = _place(statementDigest, _open(rest, openings));
        uint256 until = _until[place];
        if (until == 0) revert SPLIT_NONE(statementDigest);
        if (block.timestamp > until) revert SPLIT_LATE(until);
        delete _until[place];
        facts[statementDigest] = true;
        emit FactProved(statementDigest);
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length != 4) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        if (!facts[statementDigest]) revert FACT_MISSING(statementDigest);
    }

    /// Virtual, as `_rows`, so that tests can plant a verifier that binds less.
    function _place(bytes32 statementDigest, bytes32 rest) internal view virtual returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), msg.sender, statementDigest, rest));
    }

    /// @param given by the leaves of a level
    /// @param number of the level
    function _rows(uint256 given, uint256 number) internal view virtual returns (uint256) {
        number;
        return given;
    }

    /// What ZkProofHead hashed if the leaves give its rows: all that is packed in `rest`, a word each, and these rows.
    function _open(bytes calldata rest, bytes calldata openings) private view returns (bytes32) {
        unchecked {
            Reader memory r;
            uint256 at_;
            uint256 end;
            assembly ("memory-safe") {
                at_ := rest.offset
                end := add(at_, rest.length)
                mstore(add(r, 64), openings.offset)
                mstore(add(r, 96), add(openings.offset, openings.length))
            }
            Plan memory p;
            // Of four bytes, a place, come two words: it and a row.
            uint256 words = Ext.allocate(rest.length / 2);
            uint256 to = words;
            for (uint256 number; at_ < end;) {
                bool isLevel;
                (isLevel, at_, to) = _openTree(r, p, at_, end, to, number + 1);
                if (isLevel) ++number;
            }
            if (r.cursor != r.end) revert STEP_PROOF_LENGTH();
            return _hash(words, to);
        }
    }

    /// A level, or the witness: without rows, since its leaves are hashed already.
    /// Nothing of it is known to be the first part's before all words are hashed: what it says must not make anything write
    /// over them, so that it lies within `rest` and a digest within a word, nor cost more than any plan does.
    /// @param to     where its words go
    /// @param number of the level
    function _openTree(Reader memory r, Plan memory p, uint256 at_, uint256 end, uint256 to, uint256 number)
        private
        view
        returns (bool isLevel, uint256 behind, uint256 words)
    {
        unchecked {
            uint256 root = _word(at_);
            uint256 sizes = _word(at_ + 32) >> 96;
            Ext.put(to, 0, root);
            Ext.put(to, 1, sizes);
            Level memory level;
            level.rows = uint32(sizes >> 32);
            level.rowVars = uint32(sizes >> 64);
            level.columnVars = uint32(sizes >> 96); // with logBlowup 0: the depth
            p.digestBytes = sizes >> 128;
            Leaves.Queries memory q;
            q.size = uint32(sizes);
            isLevel = level.rows != 0;
            uint256 next = at_ + 52;
            to += 64;
            behind = next + 16 * level.rowVars + (isLevel ? 4 : 36) * q.size;
            bool isAny = level.rowVars <= 8 && level.rows <= 1 << level.rowVars && level.columnVars <= 64;
            if (behind > end || p.digestBytes > 32 || !isAny) revert SPLIT_REST();
            Transcript.elements(next, level.rowVars, to);
            r.buffer = Ext.eqTable(to, level.rowVars);
            (next, to) = (next + 16 * level.rowVars, to + 32 * level.rowVars);
            q.indices = to;
            for (uint256 k; k < q.size; ++k) {
                Ext.put(to, k, _word(next + 4 * k) >> 224);
            }
            to += 32 * q.size;
            if (!isLevel) {
                _copy(to, next + 4 * q.size, q.size);
                if (Leaves.rootOf(r, p, q, to, level.columnVars) != root) revert STEP_MERKLE_S();
            } else {
                if (Leaves.openLevel(r, p, level, q, r.buffer) != root) refuseLevel(number);
                uint256 rows = _rows(q.rows, number);
                for (uint256 k; k < q.size; ++k) {
                    Ext.put(to, k, Ext.get(rows, k));
                }
            }
            return (isLevel, behind, to + 32 * q.size);
        }
    }

    function _copy(uint256 to, uint256 from, uint256 count) private pure {
        assembly ("memory-safe") {
            calldatacopy(to, from, shl(5, count))
        }
    }

    function _hash(uint256 from, uint256 to) private pure returns (bytes32 digest) {
        assembly ("memory-safe") {
            digest := keccak256(from, sub(to, from))
        }
    }

    function _word(uint256 at_) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(at_)
        }
    }
}
