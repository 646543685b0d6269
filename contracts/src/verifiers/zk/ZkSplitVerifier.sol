// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../../interfaces/IStepVerifier.sol";
import {FACT_MISSING, SEAL_LENGTH, SEAL_SELECTOR, SPLIT_LATE, SPLIT_NONE, SPLIT_VALUE} from "../../Errors.sol";
import {Ext} from "./Ext.sol";
import {Leaves} from "./Leaves.sol";
import {Reader} from "./Transcript.sol";
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

    /// @param rest     what the first part left open, as ZkProofHead puts it together
    /// @param openings siblings of the witness, leaves and siblings of the levels, in the order of the proof
    function finish(bytes32 statementDigest, bytes calldata rest, bytes calldata openings) external {
        bytes32 place = _place(statementDigest, keccak256(rest));
        uint256 until = _until[place];
        if (until == 0) revert SPLIT_NONE(statementDigest);
        if (block.timestamp > until) revert SPLIT_LATE(until);
        delete _until[place];
        _open(rest, openings);
        facts[statementDigest] = true;
        emit FactProved(statementDigest);
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length != 4) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        if (!facts[statementDigest]) revert FACT_MISSING(statementDigest);
    }

    /// Virtual, as `_isSame`, so that tests can plant a verifier that binds less.
    function _place(bytes32 statementDigest, bytes32 rest) internal view virtual returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), msg.sender, statementDigest, rest));
    }

    function _isSame(uint256 given, uint256 stated) internal pure virtual returns (bool) {
        return given == stated;
    }

    /// `rest` is what the first part computed: its words are in range, and it is read to its end.
    function _open(bytes calldata rest, bytes calldata openings) private pure {
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
            for (uint256 number; at_ < end;) {
                bool isLevel;
                (isLevel, at_) = _openTree(r, p, at_, number + 1);
                if (isLevel) ++number;
            }
            if (r.cursor != r.end) revert STEP_PROOF_LENGTH();
        }
    }

    /// A level, or the witness: without rows, since its leaves are hashed already.
    /// @param number of the level
    function _openTree(Reader memory r, Plan memory p, uint256 at_, uint256 number)
        private
        pure
        returns (bool isLevel, uint256 next)
    {
        unchecked {
            uint256 root = _word(at_);
            uint256 sizes = _word(at_ + 32);
            at_ += 64;
            Level memory level;
            level.rows = uint32(sizes >> 32);
            level.rowVars = uint32(sizes >> 64);
            level.columnVars = uint32(sizes >> 96); // with logBlowup 0: the depth
            p.digestBytes = sizes >> 128;
            Leaves.Queries memory q;
            q.size = uint32(sizes);
            uint256 rowTable = Ext.eqTable(_copy(at_, level.rowVars), level.rowVars);
            at_ += 32 * level.rowVars;
            q.indices = _copy(at_, q.size);
            at_ += 32 * q.size;
            next = at_ + 32 * q.size;
            isLevel = level.rows != 0;
            if (!isLevel) {
                if (Leaves.rootOf(r, p, q, _copy(at_, q.size), level.columnVars) != root) revert STEP_MERKLE_S();
                return (isLevel, next);
            }
            r.buffer = rowTable;
            if (Leaves.openLevel(r, p, level, q, rowTable) != root) refuseLevel(number);
            for (uint256 k; k < q.size; ++k) {
                if (!_isSame(Ext.get(q.rows, k), _word(at_ + 32 * k))) revert SPLIT_VALUE(number, k);
            }
        }
    }

    function _copy(uint256 from, uint256 count) private pure returns (uint256 list) {
        list = Ext.allocate(count);
        assembly ("memory-safe") {
            calldatacopy(list, from, shl(5, count))
        }
    }

    function _word(uint256 at_) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(at_)
        }
    }
}
