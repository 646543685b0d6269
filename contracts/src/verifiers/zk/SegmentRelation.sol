// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Flow} from "./Claims.sol";
import {Matmuls} from "./Matmuls.sol";
import {Plan} from "./ZkPlan.sol";
import {ZkRelation} from "./ZkRelation.sol";

/// The flow over the steps of one segment.
abstract contract SegmentRelation is ZkRelation, Matmuls {
    function _isUnit() internal pure override returns (bool) {
        return false;
    }

    function _steps(Flow memory f, Plan memory p) internal pure override {
        _matmuls(f, p);
    }
}
