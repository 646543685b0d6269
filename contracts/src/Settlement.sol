// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore, Parameters} from "./JobStore.sol";
import {Disputes} from "./Disputes.sol";
import {Handover} from "./Handover.sol";
import {Opening} from "./Opening.sol";
import {Running} from "./Running.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    BPS,
    FLAG_DUTIES,
    FLAG_MISSING,
    FLAG_SEALED,
    FLAG_UNSEALED,
    Job,
    MODE_FULL,
    MODE_REVEAL,
    OUTCOME_COMPLETE,
    OUTCOME_RANGE,
    State,
    Terms
} from "./Types.sol";
import {DELIVERY_KEY, DELIVERY_MODE, DELIVERY_PENDING, DUTY_OPEN, TERMS_MODE, VERIFIER_LIVE} from "./Errors.sol";

/// The one contract that holds money. How jobs end well, or with nobody to blame. contracts/SPEC.md §6, §9, §12.
contract Settlement is Opening, Running, Disputes, Handover {
    constructor(Parameters memory p) JobStore(p) {}

    /// Pays. Anyone, when no duty is open and the windows have passed. It asks neither router nor keys nor registry.
    /// @param ciphertextDigest and `key` open the delivery that the enclave sealed; zero when there is none
    function finalize(Terms calldata terms, bytes32 ciphertextDigest, bytes32 key) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (_endsUnsealed(terms, j)) {
            if (duties.challengedOpen(id) != 0) revert DUTY_OPEN();
            return _end(id, terms, j, State.Unsealed, 0);
        }
        _past(_finalFrom(id, terms, j));
        if (j.flags & FLAG_MISSING != 0) revert DELIVERY_PENDING();
        if (j.delivery != 0) {
            bytes32 delivered = Statements.delivery(ciphertextDigest, keccak256(abi.encode(key)));
            if (j.flags & FLAG_SEALED == 0 || delivered != j.delivery) revert DELIVERY_KEY();
            emit KeyRevealed(id, ciphertextDigest, key); // before any credit
        }
        (State state, uint128 earned) = _earned(terms, j);
        _end(id, terms, j, state, earned);
    }

    /// The ciphertext was asked for and not shown, or the key did not come in time.
    function undelivered(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (j.delivery == 0 || j.flags & FLAG_UNSEALED != 0) revert DELIVERY_MODE();
        _past(j.flags & FLAG_MISSING != 0 ? j.ackUntil : _finalFrom(id, terms, j) + terms.windows.reveal);
        _end(id, terms, j, State.Undelivered, 0, terms.liveness, address(0));
    }

    /// Nobody can make this job good any more, and nobody is to blame: everything goes back to its depositor.
    function void(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _loadLive(terms, State.Accepted);
        bool dead = j.state != State.Committed
            ? !rules.canCommit(terms)
            : j.flags & FLAG_DUTIES != 0 && duties.isStuck(id, terms);
        if (!dead) revert VERIFIER_LIVE();
        _end(id, terms, j, State.Voided, 0);
    }

    /// FULL mode without REVEAL: pays for the first `segments` segments, all proved, less the holdback.
    function claimPrefix(Terms calldata terms, uint256 segments) external {
        (bytes32 id, Job storage j) = _committed(terms);
        address provider = _onlyProvider(terms, j);
        bool full = terms.mode & (MODE_FULL | MODE_REVEAL) == MODE_FULL;
        if (!full || j.outcome != OUTCOME_COMPLETE) revert TERMS_MODE(terms.mode);
        if (!duties.isPrefixProved(id, segments)) revert DUTY_OPEN();
        (, uint256 lastDuty) = duties.standing(id, terms);
        _past(lastDuty + terms.windows.hold);
        uint256 gross = uint256(terms.price) * segments / terms.segments;
        uint128 cumulative = uint128(gross * (BPS - terms.holdbackBps) / BPS);
        emit PrefixPaid(id, segments, cumulative);
        _payUpTo(terms, j, provider, cumulative);
    }

    /// The last second in which finalize may not pay yet. Reverts while a duty is open.
    function _finalFrom(bytes32 id, Terms calldata terms, Job storage j) private view returns (uint256 from) {
        from = uint256(j.since) + terms.windows.challenge;
        if (j.ackUntil > from) from = j.ackUntil;
        if (j.flags & FLAG_DUTIES == 0) return from;
        (bool met, uint256 lastDuty) = duties.standing(id, terms);
        if (!met) revert DUTY_OPEN();
        if (lastDuty + terms.windows.hold > from) from = lastDuty + terms.windows.hold;
    }

    function _earned(Terms calldata terms, Job storage j) private view returns (State state, uint128 earned) {
        uint256 due = terms.price;
        state = State.Settled;
        if (j.outcome != OUTCOME_COMPLETE) {
            state = State.Stopped;
            due = due * j.upTo / terms.segments;
            if (j.outcome == OUTCOME_RANGE) due = due * terms.failShareBps / BPS;
        }
        earned = due > j.paid ? uint128(due - j.paid) : 0;
    }
}
