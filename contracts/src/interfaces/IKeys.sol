// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Approval, Grant, Terms} from "../Types.sol";

/// Why a key that stood behind a seal no longer counts.
enum KeyEnd {
    None,
    Revoked,
    Condemned
}

/// Which keys may seal a job. All state is kept for the caller, a Settlement. contracts/SPEC.md §10.
interface IKeys {
    /// Tells it from a step verifier.
    function isKeys() external pure returns (bool);

    /// Reverts unless the Release and the Appraisals that the terms demand are there. Binds the key when it has one.
    function bind(bytes32 job, Terms calldata terms, address provider, Grant calldata g, Approval[] calldata approvals)
        external;

    /// Reverts unless `seal` is over Run by one of `keys`, and all of them are bound and good now. Marks them as sealed.
    /// @param run hashStruct of Run but for its last member: what comes before `keys`
    function sealer(
        bytes32 job,
        bytes4 selector,
        bytes32 snpPolicy,
        bytes calldata run,
        address[] calldata keys,
        bytes calldata seal
    ) external returns (address key);

    /// Whether a key behind the caller's seal has ended, and how.
    function endOf(bytes32 job, bytes32 snpPolicy, address key) external view returns (KeyEnd);

    /// Anyone may bring the signatures of max(1, needed) of key broker and attestors, also before the key is bound.
    function revoke(
        address settlement,
        Terms calldata terms,
        address key,
        bytes32 reason,
        bytes[] calldata signatures
    ) external;

    function factsOf(address settlement, bytes32 job, address key)
        external
        view
        returns (bool isBound, bool isSealed, bool isRevoked);

    /// That of this version in the router.
    function SELECTOR() external view returns (bytes4);
}
