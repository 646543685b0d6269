// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Terms} from "../Types.sol";

/// The least that windows may be on one chain.
struct Floors {
    uint32 window; // seconds: start, compute, draw, challenge, prove, reveal, ack, each where the mode uses it
    uint32 finality; // seconds, SAMPLE
    uint32 drawBlocks; // blocks, SAMPLE
}

/// What `open` refuses, and what is left to judge a job. contracts/SPEC.md §5, §6.
interface ITermsRules {
    function check(Terms calldata terms) external view;

    /// Who provides must be none of those who may speak for the client's side.
    function checkProvider(Terms calldata terms, address provider) external pure;

    /// Reverts unless `signer`, which may be a contract (ERC-1271), signed in the domain of the caller, a Settlement.
    function requireSignature(address signer, bytes32 structHash, bytes calldata signature) external view;

    /// Whether a run of this job can still be committed and made good with the verifiers that are left.
    function canCommit(Terms calldata terms) external view returns (bool);

    /// Whether some verifier that the terms name still judges segments.
    function isProvable(Terms calldata terms) external view returns (bool);
}
