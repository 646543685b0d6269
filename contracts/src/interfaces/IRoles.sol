// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

enum Role {
    Governor, // rotates roles, adds selectors and tokens; meant to be a timelock
    Guardian, // pauses `open`, tombstones selectors
    Treasury, // receives fees and shares of lost stakes
    Revoker // condemns chips, certificates, issuers and products
}

/// What other contracts ask of Roles.
interface IRoles {
    /// Reverts unless `who` holds the role.
    function requireRole(Role role, address who) external view;
}
