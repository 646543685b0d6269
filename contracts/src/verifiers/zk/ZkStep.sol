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
    bytes sizes; // m_t, one byte per step
    bytes plan;
    bytes proof;
}

/// A proof of step-proof `fxt-zk/1` for a Segment of a job. The job's terms name the digest of the StepSpec, which fixes
/// plan, manifest, data and order; A1 and A2 of libs/zk/SPEC.md §2.2 stay with whoever agreed to them.
abstract contract ZkStep is ZkProof {
    /// Terms are one ABI tuple: its offset, then client, provider, keyBroker, token, specDigest.
    uint256 private constant SPEC_DIGEST_AT = 160;

    ZkRelation public immutable softmax;
    ZkRelation public immutable squaredError;

    constructor(ZkRelation softmax_, ZkRelation squaredError_) {
        softmax = softmax_;
        squaredError = squaredError_;
    }

    /// Reverts unless the proof holds, but for what `_openLevel` leaves open.
    function _check(bytes calldata seal, bytes4 selector, bytes32 statementDigest)
        internal
        view
        returns (Plan memory p, Opening memory o)
    {
        if (seal.length < 68 || bytes4(seal[:4]) != selector) revert SEAL_SELECTOR(bytes4(seal));
        // One tuple behind its offset: with another word here two seals would say the same.
        if (uint256(bytes32(seal[4:36])) != 32) revert STEP_STATEMENT();
        StepSeal calldata s;
        assembly ("memory-safe") {
            s := add(seal.offset, 36)
        }
        p = ZkPlan.read(s.plan);
        _requireFloor(p);
        ZkProof.Input memory input;
        input.known = [
            StepContext.known(s.before, p.oodPoints),
            StepContext.known(s.afterwards, p.oodPoints),
            StepContext.known(s.data, p.oodPoints)
        ];
        input.context = _context(s, p, statementDigest);
        input.relation = p.squaredError ? squaredError : softmax;
        o = _prove(p, input, s.plan, s.sizes, s.proof);
    }

    /// Agreed or not, a plan whose proofs can be forged proves nothing.
    function _requireFloor(Plan memory p) internal pure virtual;

    /// Ties the seal to the statement, and everything in it to the job (libs/zk/SPEC.md §2.2).
    function _context(StepSeal calldata s, Plan memory p, bytes32 statementDigest) private pure returns (bytes32) {
        bytes32 planDigest = ZkPlan.digest(s.plan);
        if (s.terms.length < SPEC_DIGEST_AT + 32) revert STEP_STATEMENT();
        if (bytes32(s.terms[SPEC_DIGEST_AT:]) != StepContext.specDigest(s.spec, planDigest)) revert STEP_STATEMENT();
        if (s.sizes.length != 1 << p.stepVars || s.index >= s.spec.steps) revert STEP_STATEMENT();
        uint256 firstStep = s.index << p.stepVars;
        if (firstStep >= s.spec.steps) revert STEP_STATEMENT();
        StepContext.requireSizes(s.spec, firstStep, s.sizes);
        uint256 superblock = StepContext.superblockOf(s.spec, p.batch << p.stepVars, s.index);
        bytes32 data = StepContext.dataDigest(s.data, StepContext.layoutDigest(p, TREE_D));
        StepContext.requireMember(s.spec.datasetRoot, data, superblock, s.dataPath);
        bytes32 layoutHash = StepContext.layoutDigest(p, TREE_W0);
        bytes32[2] memory w =
            [StepContext.weightsDigest(s.before, layoutHash), StepContext.weightsDigest(s.afterwards, layoutHash)];
        bytes32 statement = Statements.segment(keccak256(s.terms), s.index, w[0], w[1]);
        if (keccak256(abi.encodePacked(hex"1901", s.domain, statement)) != statementDigest) revert STEP_STATEMENT();
        return StepContext.contextDigest(s.spec, statementDigest, firstStep, superblock, planDigest, data, s.sizes, w);
    }
}
