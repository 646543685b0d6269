// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

// The codes of the TypeScript verifier (libs/zk/SPEC.md §11).

error STEP_PLAN();
error STEP_STATEMENT();
error MERKLE_PATH();
error MERKLE_INDEX();
error ORDER_TOO_FEW_RECORDS();
error STEP_PROOF_LENGTH();
error STEP_NONCANONICAL();
error STEP_POW();
error STEP_MERKLE_W0();
error STEP_MERKLE_J();
error STEP_MERKLE_WT();
error STEP_MERKLE_S();
error STEP_MERKLE_D();
error STEP_MERKLE_L1();
error STEP_MERKLE_L2();
error STEP_MERKLE_L3();
error STEP_FINAL_CHECK();

/// Opened leaves of a level that do not lead to its root.
/// @param number of the level, from 1
function refuseLevel(uint256 number) pure {
    if (number == 1) revert STEP_MERKLE_L1();
    if (number == 2) revert STEP_MERKLE_L2();
    revert STEP_MERKLE_L3();
}
