// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../../libraries/Statements.sol";
import {SEAL_SELECTOR} from "../../Errors.sol";
import {Plan, ZkPlan, TREE_D, TREE_W0} from "./ZkPlan.sol";
import {StepContext, StepSpec, TreeCommitment} from "./StepContext.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {ZkProof} from "./ZkProof.sol";
import {STEP_STATEMENT} from "./ZkErrors.sol";

/// The body of a ZkSeal, ABI-encoded after the selector.
struct StepSeal {
    bytes32 domain; // EIP-712 domain separator of the statement
    bytes terms; // ABI encoding of the job's Terms
    uint256 index;
    StepSpec spec;
    TreeCommitment before;
    TreeCommitment afterwards;
    TreeCommitment data;
    bytes32[] dataPath;
    bytes sizes; // m_t, one byte per step; of a unit then the superblock that each segment reads, a word each
    bytes plan;
    bytes proof;
}

/// A proof of step-proof `fxt-zk/1` for a Segment of a job. The job's terms name the digest of the StepSpec, which fixes
/// plan, manifest, data and order; A1 and A2 of libs/zk/SPEC.md §2.2 stay with whoever agreed to them.
abstract contract ZkStep is ZkProof {
    /// Terms are one ABI tuple: its offset, then client, provider, keyBroker, token, specDigest.
    uint256 private constant SPEC_DIGEST_AT = 160;

    ZkRelation private immutable _softmax;
    ZkRelation private immutable _squaredError;
    ZkRelation private immutable _unitSoftmax;
    ZkRelation private immutable _unitSquaredError;

    /// @param relations of one segment, then of units: softmax, squared error
    constructor(ZkRelation[4] memory relations) {
        _softmax = relations[0];
        _squaredError = relations[1];
        _unitSoftmax = relations[2];
        _unitSquaredError = relations[3];
    }

    /// Reverts unless the proof holds, but for what `_openLevel` leaves open.
    function _check(bytes calldata seal, bytes4 selector, bytes32 statementDigest)
        internal
        view
        returns (Plan memory p, Opening memory o)
    {
        if (seal.length < 68 || bytes4(seal) != selector) revert SEAL_SELECTOR(bytes4(seal));
        StepSeal calldata s;
        uint256 offset;
        assembly ("memory-safe") {
            s := add(seal.offset, 36)
            offset := calldataload(sub(s, 32))
        }
        // One tuple behind its offset: with another word here two seals would say the same.
        if (offset != 32) revert STEP_STATEMENT();
        p = ZkPlan.read(s.plan);
        ZkPlan.readUnit(p);
        _requireFloor(p);
        ZkProof.Input memory input;
        input.known = [
            StepContext.known(s.before, p.oodPoints),
            StepContext.known(s.afterwards, p.oodPoints),
            StepContext.known(s.data, p.oodPoints)
        ];
        input.context = _context(s, p, statementDigest);
        input.relation = p.segmentVars == 0
            ? p.squaredError ? _squaredError : _softmax
            : p.squaredError ? _unitSquaredError : _unitSoftmax;
        o = _prove(p, input, s.plan, s.sizes, s.proof);
    }

    /// Agreed or not, a plan whose proofs can be forged proves nothing.
    function _requireFloor(Plan memory p) internal pure virtual;

    /// Ties the seal to the statement, and everything in it to the job (libs/zk/SPEC.md §2.2).
    function _context(StepSeal calldata s, Plan memory p, bytes32 statementDigest) private pure returns (bytes32) {
        bytes32 planDigest = ZkPlan.digest(s.plan);
        if (s.terms.length < SPEC_DIGEST_AT + 32) revert STEP_STATEMENT();
        if (bytes32(s.terms[SPEC_DIGEST_AT:]) != StepContext.specDigest(s.spec, planDigest)) revert STEP_STATEMENT();
        uint256 steps = 1 << p.stepVars;
        uint256 segments = 1 << p.segmentVars;
        bytes calldata sizes = s.sizes;
        if (sizes.length != steps + (segments == 1 ? 0 : 32 * segments) || s.index >= s.spec.steps) {
            revert STEP_STATEMENT();
        }
        uint256 superblocksAt;
        assembly ("memory-safe") {
            sizes.length := steps
            superblocksAt := add(sizes.offset, steps)
        }
        uint256 firstStep = s.index << p.stepVars;
        if (firstStep >= s.spec.steps) revert STEP_STATEMENT();
        StepContext.requireSizes(s.spec, firstStep, sizes);
        (uint256 superblock, bytes32 order) = StepContext.superblocksOf(
            s.spec, p.batch << (p.stepVars - p.segmentVars), s.index << p.segmentVars, segments, superblocksAt
        );
        bytes32 data = StepContext.dataDigest(s.data, StepContext.layoutDigest(p, TREE_D));
        StepContext.requireMember(s.spec.datasetRoot, data, superblock, s.dataPath);
        bytes32 layoutHash = StepContext.layoutDigest(p, TREE_W0);
        bytes32[2] memory w =
            [StepContext.weightsDigest(s.before, layoutHash), StepContext.weightsDigest(s.afterwards, layoutHash)];
        bytes32 statement = Statements.segment(keccak256(s.terms), s.index, w[0], w[1]);
        if (keccak256(abi.encodePacked(hex"1901", s.domain, statement)) != statementDigest) revert STEP_STATEMENT();
        return StepContext.contextDigest(
            s.spec, segments != 1, statementDigest, firstStep, order, planDigest, data, sizes, w
        );
    }
}
