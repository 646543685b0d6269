// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Duties} from "../Duties.sol";
import {Job} from "../Types.sol";

/// What other contracts read of Settlement.
interface IJobs {
    function jobOf(bytes32 id) external view returns (Job memory);

    function duties() external view returns (Duties);
}
