// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "./IStepVerifier.sol";

/// A seal made by the settlement key of an attested enclave. Settlement §10.
interface ITeeVerifier is IStepVerifier {
    /// Reverts unless the seal's signer is live under the policy for the provider; returns the signer and its tier.
    function verifyEnclave(
        bytes calldata seal,
        bytes32 statementDigest,
        bytes32 policy,
        address provider,
        uint8 minTier
    ) external view returns (address key, uint8 tier);

    function isLive(address key, bytes32 policy, address provider, uint8 minTier) external view returns (bool);

    /// Reverts unless m of n attestors signed the digest.
    function requireQuorum(bytes32 digest, bytes[] calldata signatures) external view;
}
