// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SegmentRelation} from "./SegmentRelation.sol";
import {SoftmaxRelation} from "./SoftmaxRelation.sol";

/// Softmax cross-entropy, over the steps of one segment.
contract ZkSoftmaxRelation is SoftmaxRelation, SegmentRelation {}
