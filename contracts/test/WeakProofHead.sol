// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Plan} from "../src/verifiers/zk/ZkPlan.sol";
import {ZkProofHead} from "../src/verifiers/zk/ZkProofHead.sol";
import {ZkRelation} from "../src/verifiers/zk/ZkRelation.sol";

/// First parts of proofs under plans of any strength, as WeakStepVerifier.
contract WeakProofHead is ZkProofHead {
    constructor(ZkRelation[4] memory relations) ZkProofHead(relations) {}

    function _requireFloor(Plan memory) internal pure override {}
}
