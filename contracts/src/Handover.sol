// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {FLAG_AVAILABLE, FLAG_MISSING, FLAG_SHOWN, Job, Terms} from "./Types.sol";
import {DELIVERY_CLAIMED, DELIVERY_MODE, DELIVERY_PUBLISH} from "./Errors.sol";

/// Complaints that the ciphertext cannot be had, and their answers; Delivery judges. contracts/SPEC.md §12.
abstract contract Handover is JobStore {
    /// The client cannot get the ciphertext; the deposit is publishFee. Once at first, once more after an answer by
    /// Availability.
    function missing(Terms calldata terms) external payable {
        (bytes32 id, Job storage j) = _unanswered(terms);
        _inTime(j.ackUntil);
        j.flags |= FLAG_MISSING;
        j.ackUntil = uint40(block.timestamp + terms.windows.ack);
        emit CiphertextMissing(id, j.flags & FLAG_AVAILABLE != 0, j.ackUntil, terms.publishFee);
        _pull(terms.token, terms.publishFee);
    }

    /// Key broker, or attestors, keep the ciphertext and serve it: answers the first complaint.
    function available(
        Terms calldata terms,
        bytes32 ciphertextDigest,
        bytes32 keyCommit,
        uint40 until,
        bytes[] calldata signatures
    ) external {
        (bytes32 id, Job storage j) = _asked(terms);
        if (j.flags & FLAG_AVAILABLE != 0) revert DELIVERY_PUBLISH();
        delivery.requireAvailable(id, terms, j.delivery, ciphertextDigest, keyCommit, until, signatures);
        _answer(id, terms, j, ciphertextDigest, FLAG_AVAILABLE);
    }

    /// All chunks are on chain: answers any complaint, and the last word.
    function published(Terms calldata terms, bytes32 ciphertextDigest, bytes32 keyCommit) external {
        (bytes32 id, Job storage j) = _asked(terms);
        delivery.requirePublished(j.delivery, ciphertextDigest, keyCommit);
        _answer(id, terms, j, ciphertextDigest, FLAG_SHOWN);
    }

    /// The client has the ciphertext: nobody need wait for the rest of the ack window.
    function acknowledge(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _unanswered(terms);
        j.flags |= FLAG_SHOWN;
        if (j.ackUntil > block.timestamp) j.ackUntil = uint40(block.timestamp);
        emit ResultAcknowledged(id);
    }

    function _unanswered(Terms calldata terms) private view returns (bytes32 id, Job storage j) {
        (id, j) = _committed(terms);
        _only(terms.client);
        if (j.delivery == 0) revert DELIVERY_MODE();
        if (j.flags & (FLAG_MISSING | FLAG_SHOWN) != 0) revert DELIVERY_CLAIMED();
    }

    function _asked(Terms calldata terms) private view returns (bytes32 id, Job storage j) {
        (id, j) = _committed(terms);
        if (j.flags & FLAG_MISSING == 0) revert DELIVERY_MODE();
        _inTime(j.ackUntil);
    }

    function _answer(bytes32 id, Terms calldata terms, Job storage j, bytes32 ciphertextDigest, uint16 flag) private {
        j.flags = (j.flags & ~FLAG_MISSING) | flag;
        // An Availability may be untrue: the client has one ack window to say so.
        j.ackUntil = uint40(flag == FLAG_AVAILABLE ? block.timestamp + terms.windows.ack : block.timestamp);
        emit CiphertextAvailable(id, ciphertextDigest, flag == FLAG_SHOWN);
        _credit(_providerOf(terms, j), terms.token, terms.publishFee);
    }
}
