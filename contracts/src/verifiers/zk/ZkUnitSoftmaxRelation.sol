// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SoftmaxRelation} from "./SoftmaxRelation.sol";
import {UnitRelation} from "./UnitRelation.sol";
import {ZkUnitMatmuls} from "./ZkUnitMatmuls.sol";

/// Softmax cross-entropy, over units of several segments.
contract ZkUnitSoftmaxRelation is SoftmaxRelation, UnitRelation {
    constructor(ZkUnitMatmuls matmuls_) UnitRelation(matmuls_) {}
}
