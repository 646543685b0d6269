// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SquaredErrorRelation} from "./SquaredErrorRelation.sol";
import {UnitRelation} from "./UnitRelation.sol";
import {ZkUnitMatmuls} from "./ZkUnitMatmuls.sol";

/// Squared error, over units of several segments.
contract ZkUnitSquaredErrorRelation is SquaredErrorRelation, UnitRelation {
    constructor(ZkUnitMatmuls matmuls_) UnitRelation(matmuls_) {}
}
