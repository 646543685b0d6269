// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ZkProofHead} from "../src/verifiers/zk/ZkProofHead.sol";
import {ZkSplitVerifier} from "../src/verifiers/zk/ZkSplitVerifier.sol";

/// Opens leaves and does not look at what they give.
contract BlindSplitVerifier is ZkSplitVerifier {
    constructor(ZkProofHead head_) ZkSplitVerifier(head_) {}

    function _isSame(uint256, uint256) internal pure override returns (bool) {
        return true;
    }
}

/// Takes the second part of any proof, from anybody, for any statement and on any chain.
contract LooseSplitVerifier is ZkSplitVerifier {
    constructor(ZkProofHead head_) ZkSplitVerifier(head_) {}

    function _place(bytes32, bytes32) internal pure override returns (bytes32) {
        return bytes32(uint256(1));
    }
}
