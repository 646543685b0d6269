// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SegmentRelation} from "./SegmentRelation.sol";
import {SquaredErrorRelation} from "./SquaredErrorRelation.sol";

/// Squared error, over the steps of one segment.
contract ZkSquaredErrorRelation is SquaredErrorRelation, SegmentRelation {}
