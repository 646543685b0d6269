// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Plan} from "../src/verifiers/zk/ZkPlan.sol";
import {ZkRelation} from "../src/verifiers/zk/ZkRelation.sol";
import {ZkStepVerifier} from "../src/verifiers/zk/ZkStepVerifier.sol";

/// Takes plans of any strength: tests prove under a profile of few bits, so that their proofs are made in no time.
contract WeakStepVerifier is ZkStepVerifier {
    constructor(ZkRelation[4] memory relations) ZkStepVerifier(relations) {}

    function _requireFloor(Plan memory) internal pure override {}
}
