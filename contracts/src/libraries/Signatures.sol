// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Terms} from "../Types.sol";
import {QUORUM_ORDER, QUORUM_SHORT, QUORUM_SIGNER, SIGNATURE, SIGNATURE_LENGTH} from "../Errors.sol";

/// Signatures of accounts that the terms name: r ‖ s ‖ v, 65 bytes, by ecrecover alone, as the enclave checks them.
/// High s is accepted: no signature is used as an identifier.
library Signatures {
    function recover(bytes32 digest, bytes calldata signature) internal pure returns (address signer) {
        if (signature.length != 65) revert SIGNATURE_LENGTH(signature.length);
        signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        if (signer == address(0)) revert SIGNATURE(address(0));
    }

    function requireSigner(bytes32 digest, bytes calldata signature, address expected) internal pure {
        if (recover(digest, signature) != expected) revert SIGNATURE(expected);
    }

    /// The place in `attestors` of the signer, which must be `from` or later: ascending places are distinct signers.
    function placeOf(address[] calldata attestors, uint256 from, address signer) internal pure returns (uint256 place) {
        for (place = from; place < attestors.length; ++place) if (attestors[place] == signer) return place;
        for (place = 0; place < from; ++place) if (attestors[place] == signer) revert QUORUM_ORDER(signer);
        revert QUORUM_SIGNER(signer);
    }

    /// Reverts unless max(1, needed) distinct attestors signed; where `broker` counts, its signature comes first.
    function requireQuorum(Terms calldata terms, bytes32 digest, bytes[] calldata signatures, bool broker)
        internal
        pure
    {
        uint256 required = terms.needed == 0 ? 1 : terms.needed;
        if (signatures.length < required) revert QUORUM_SHORT(required, signatures.length);
        uint256 place;
        for (uint256 i = 0; i < required; ++i) {
            address signer = recover(digest, signatures[i]);
            if (broker && i == 0 && signer == terms.keyBroker) continue;
            place = placeOf(terms.attestors, place, signer) + 1;
        }
    }
}
