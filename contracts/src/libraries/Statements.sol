// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Approval, Grant, Terms} from "../Types.sol";

/// EIP-712 structs of contracts/SPEC.md §3 in the one domain {"Settlement", "2", chainId, Settlement}.
library Statements {
    bytes32 internal constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 internal constant RUN = keccak256(
        "Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery,bytes32 keys)"
    );
    bytes32 internal constant SEGMENT =
        keccak256("Segment(bytes32 job,uint32 index,bytes32 weightsBefore,bytes32 weightsAfter)");
    bytes32 internal constant RELEASE = keccak256(
        "Release(bytes32 job,address provider,bytes32 dataset,bytes32 session,address key,bytes32 policy,bytes32 evidence,bytes32 grant,bytes32 nonce,uint40 grantedAt,uint40 notAfter)"
    );
    bytes32 internal constant APPRAISAL = keccak256(
        "Appraisal(bytes32 job,address provider,bytes32 session,address key,bytes32 policy,bytes32 evidence,uint40 notAfter)"
    );
    bytes32 internal constant VOUCHER = keccak256("Voucher(bytes32 job,uint256 cumulative)");
    bytes32 internal constant AWARD = keccak256("Award(bytes32 job,address provider)");
    bytes32 internal constant AVAILABILITY =
        keccak256("Availability(bytes32 job,bytes32 ciphertextDigest,uint40 until)");
    bytes32 internal constant REVOCATION = keccak256("Revocation(bytes32 job,address key,bytes32 reason)");

    /// keccak256(abi.encode(terms)), at a third of the gas. The static words are taken as they stand: what is dirty in them
    /// makes another job, which `open` refuses, because it encodes them for TermsRules.
    function job(Terms calldata terms) internal pure returns (bytes32 id) {
        address[] calldata attestors = terms.attestors;
        bytes4[] calldata selectors = terms.dutySelectors;
        assembly ("memory-safe") {
            let free := mload(0x40)
            let head := add(free, 0x20)
            mstore(free, 0x20)
            calldatacopy(head, terms, 0x520)
            let size := shl(5, attestors.length)
            let tail := add(head, 0x520)
            mstore(add(head, 0x120), 0x520)
            mstore(tail, attestors.length)
            calldatacopy(add(tail, 0x20), attestors.offset, size)
            tail := add(add(tail, 0x20), size)
            mstore(add(head, 0x180), sub(tail, head))
            size := shl(5, selectors.length)
            mstore(tail, selectors.length)
            calldatacopy(add(tail, 0x20), selectors.offset, size)
            id := keccak256(free, sub(add(add(tail, 0x20), size), free))
        }
    }

    /// With the chain's id of now, so that signatures of one chain are worth nothing on the other after a split.
    function domain(address settlement) internal view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN, keccak256("Settlement"), keccak256("2"), block.chainid, settlement));
    }

    function digest(address settlement, bytes32 structHash) internal view returns (bytes32 out) {
        bytes32 separator = domain(settlement);
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, hex"1901")
            mstore(add(free, 2), separator)
            mstore(add(free, 34), structHash)
            out := keccak256(free, 66)
        }
    }

    /// @param keys keccak256 of the words of the settlement keys, ascending
    function run(bytes32 id, uint256 upTo, uint8 outcome, bytes32 root, bytes32 last, bytes32 delivered, bytes32 keys)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(RUN, id, upTo, outcome, root, last, delivered, keys));
    }

    /// keccak256 of the words of the keys.
    function keysOf(address[] memory keys) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(keys));
    }

    function segment(bytes32 id, uint256 index, bytes32 weightsBefore, bytes32 weightsAfter)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(SEGMENT, id, index, weightsBefore, weightsAfter));
    }

    function release(bytes32 id, address provider, bytes32 policy, Grant memory g) internal pure returns (bytes32) {
        return keccak256(
            bytes.concat(
                abi.encode(RELEASE, id, provider, g.dataset, g.session, g.key, policy, g.evidence),
                abi.encode(g.grant, g.nonce, g.grantedAt, g.notAfter)
            )
        );
    }

    function appraisal(
        bytes32 id,
        address provider,
        bytes32 session,
        address key,
        bytes32 policy,
        bytes32 evidence,
        uint40 notAfter
    ) internal pure returns (bytes32) {
        return keccak256(abi.encode(APPRAISAL, id, provider, session, key, policy, evidence, notAfter));
    }

    function voucher(bytes32 id, uint256 cumulative) internal pure returns (bytes32) {
        return keccak256(abi.encode(VOUCHER, id, cumulative));
    }

    function award(bytes32 id, address provider) internal pure returns (bytes32) {
        return keccak256(abi.encode(AWARD, id, provider));
    }

    function availability(bytes32 id, bytes32 ciphertextDigest, uint40 until) internal pure returns (bytes32) {
        return keccak256(abi.encode(AVAILABILITY, id, ciphertextDigest, until));
    }

    function revocation(bytes32 id, address key, bytes32 reason) internal pure returns (bytes32) {
        return keccak256(abi.encode(REVOCATION, id, key, reason));
    }

    /// What the seal binds about the result: contracts/SPEC.md §12.
    function delivery(bytes32 ciphertextDigest, bytes32 keyCommit) internal pure returns (bytes32) {
        return keccak256(abi.encode(ciphertextDigest, keyCommit));
    }
}
