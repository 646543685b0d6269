// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Relation} from "../src/verifiers/zk/Relation.sol";
import {ZkPlan} from "../src/verifiers/zk/ZkPlan.sol";
import {ZkProof} from "../src/verifiers/zk/ZkProof.sol";

contract ZkHarness {
    function check(
        bytes calldata plan,
        bytes32 context,
        Relation.Commitment[3] calldata known,
        bytes calldata sizes,
        bytes calldata proof
    ) external pure {
        uint256 at;
        assembly {
            at := sizes.offset
        }
        ZkProof.check(ZkPlan.read(plan), context, known, at, proof);
    }
}
