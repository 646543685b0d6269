// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Terms} from "../Types.sol";

/// EIP-712 structs of settlement §3; each function gives hashStruct, the domain is added by its caller.
library Statements {
    bytes32 internal constant RUN =
        keccak256("Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery)");
    bytes32 internal constant SEGMENT =
        keccak256("Segment(bytes32 job,uint32 index,bytes32 weightsBefore,bytes32 weightsAfter)");
    bytes32 internal constant RELEASE = keccak256("Release(bytes32 job,bytes32 enclaveKey,bytes32 shardsDigest)");
    bytes32 internal constant VOUCHER = keccak256("Voucher(bytes32 job,uint256 cumulative)");
    bytes32 internal constant AWARD = keccak256("Award(bytes32 job,address provider)");
    bytes32 internal constant AVAILABILITY = keccak256("Availability(bytes32 job,bytes32 ciphertextDigest)");
    bytes32 internal constant APPRAISAL =
        keccak256("Appraisal(address key,bytes32 policy,address provider,bytes32 evidence,uint40 notAfter)");
    bytes32 internal constant REVOCATION = keccak256("Revocation(address key,bytes32 reason)");

    function job(Terms calldata terms) internal pure returns (bytes32) {
        return keccak256(abi.encode(terms));
    }

    function run(bytes32 id, uint256 upTo, uint8 outcome, bytes32 root, bytes32 last, bytes32 delivered)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(RUN, id, upTo, outcome, root, last, delivered));
    }

    function segment(bytes32 id, uint256 index, bytes32 weightsBefore, bytes32 weightsAfter)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(SEGMENT, id, index, weightsBefore, weightsAfter));
    }

    function release(bytes32 id, bytes32 enclaveKey, bytes32 shardsDigest) internal pure returns (bytes32) {
        return keccak256(abi.encode(RELEASE, id, enclaveKey, shardsDigest));
    }

    function voucher(bytes32 id, uint256 cumulative) internal pure returns (bytes32) {
        return keccak256(abi.encode(VOUCHER, id, cumulative));
    }

    function award(bytes32 id, address provider) internal pure returns (bytes32) {
        return keccak256(abi.encode(AWARD, id, provider));
    }

    function availability(bytes32 id, bytes32 ciphertextDigest) internal pure returns (bytes32) {
        return keccak256(abi.encode(AVAILABILITY, id, ciphertextDigest));
    }

    function appraisal(address key, bytes32 policy, address provider, bytes32 evidence, uint40 notAfter)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(APPRAISAL, key, policy, provider, evidence, notAfter));
    }

    function revocation(address key, bytes32 reason) internal pure returns (bytes32) {
        return keccak256(abi.encode(REVOCATION, key, reason));
    }

    /// What the seal binds about the result: settlement §12.
    function delivery(bytes32 ciphertextDigest, bytes32 keyCommit) internal pure returns (bytes32) {
        return keccak256(abi.encode(ciphertextDigest, keyCommit));
    }
}
