// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// One immutable implementation per selector. A seal is selector (4 bytes) ‖ body. contracts/SPEC.md §3, §4.
interface IStepVerifier {
    /// Returns nothing and reverts unless `seal` makes the statement good.
    function verify(bytes calldata seal, bytes32 statementDigest) external view;
}
