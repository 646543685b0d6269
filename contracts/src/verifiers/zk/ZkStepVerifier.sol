// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../../interfaces/IStepVerifier.sol";
import {Ext} from "./Ext.sol";
import {Leaves} from "./Leaves.sol";
import {Reader} from "./Transcript.sol";
import {ZkFloor} from "./ZkFloor.sol";
import {Level, Plan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";
import {ZkStep} from "./ZkStep.sol";
import {STEP_MERKLE_S, refuseLevel} from "./ZkErrors.sol";

/// Verifies a proof whole, in one call.
contract ZkStepVerifier is ZkStep, IStepVerifier {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/zk/fxt-zk/1"));

    constructor(ZkRelation[4] memory relations) ZkStep(relations) {}

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        _check(seal, SELECTOR, statementDigest);
    }

    function _requireFloor(Plan memory p) internal pure virtual override {
        ZkFloor.check(p);
    }

    function _openLevel(Reader memory r, Plan memory p, Opened memory own, uint256 number) internal pure override {
        Level memory level = own.level;
        uint256 root = Leaves.openLevel(r, p, level, own.queries, Ext.eqTable(own.start, level.rowVars));
        if (root != uint256(own.root)) refuseLevel(number);
    }

    function _openWitness(Reader memory r, Plan memory p, Opening memory o) internal pure override {
        uint256 root = Leaves.rootOf(r, p, o.queries, o.witness, p.m + p.logBlowup);
        if (root != o.witnessRoot) revert STEP_MERKLE_S();
    }
}
