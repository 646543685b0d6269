// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {KeyEnd} from "./interfaces/IKeys.sol";
import {
    FLAG_DUTIES,
    FLAG_SEALED,
    FLAG_UNSEALED,
    Job,
    MODE_REVEAL,
    OUTCOME_RANGE,
    State,
    Terms,
    Transition
} from "./Types.sol";
import {CHALLENGE_CLOSED, JOB_STATE, KEY_LIVE, RUN_OUTCOME} from "./Errors.sol";
import {Statements} from "./libraries/Statements.sol";

/// What anyone may hold against a committed run, and the money that follows; Duties judges. contracts/SPEC.md §7, §8.
abstract contract Disputes is JobStore {
    function challenge(Terms calldata terms, uint256 segment) external payable {
        (bytes32 id, Job storage j) = _committed(terms);
        _inWindow(terms, j);
        if (_endsUnsealed(terms, j)) revert CHALLENGE_CLOSED();
        uint40 deadline = duties.challenge(id, terms, segment, msg.sender);
        j.flags |= FLAG_DUTIES;
        emit DutyOpened(id, segment, msg.sender, deadline, terms.bond);
        _pull(terms.token, terms.bond);
    }

    /// Anyone may bring the proof; what it earns goes to the provider. While challenges are heard it forestalls one, so that
    /// Duties is asked before anybody is paid.
    function discharge(Terms calldata terms, uint256 segment, Transition calldata t, bytes calldata seal) external {
        (bytes32 id, Job storage j) = _committed(terms);
        bool inWindow = block.timestamp <= uint256(j.since) + terms.windows.challenge;
        address challenger = duties.discharge(id, terms, segment, t, seal, inWindow);
        if (inWindow) j.flags |= FLAG_DUTIES;
        emit DutyDischarged(id, segment, bytes4(seal[:4]), msg.sender);
        if (challenger != address(0)) {
            _credit(_providerOf(terms, j), terms.token, terms.bond - terms.bondFee);
            _credit(roles.treasury(), terms.token, terms.bondFee);
        }
    }

    /// A due segment was not proved in time. One that fell due only because the seal was taken away costs no stake.
    /// @param sample where the segment stands in the sample; read only when no challenger asked for it
    function lapse(Terms calldata terms, uint256 segment, uint256 sample) external {
        (bytes32 id, Job storage j) = _committed(terms);
        (address challenger, bool byUnseal) = duties.lapse(id, terms, segment, sample);
        if (byUnseal) return _end(id, terms, j, State.Unsealed, 0);
        _end(id, terms, j, State.Slashed, 0, terms.stake, challenger);
        if (challenger != address(0)) _refund(id, terms, segment, challenger);
    }

    /// The bond of a duty that was still open when the job ended.
    function refundBond(Terms calldata terms, uint256 segment) external {
        bytes32 id = Statements.job(terms);
        State state = _jobs[id].state;
        if (state <= State.Committed) revert JOB_STATE(id, uint8(state));
        _refund(id, terms, segment, duties.forget(id, segment));
    }

    /// A key behind the seal was revoked or condemned, or the guardian tombstoned what judges keys, while the window is
    /// open: the seal stops counting.
    /// @param key one of those of the run; not read when the selector is tombstoned
    function unseal(Terms calldata terms, address key) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (j.flags & FLAG_SEALED == 0) revert CHALLENGE_CLOSED();
        _inWindow(terms, j);
        KeyEnd cause;
        if (router.isLive(terms.teeSelector)) {
            cause = _keys(terms).endOf(id, terms.snpPolicy, key);
            if (cause == KeyEnd.None) revert KEY_LIVE(key);
        }
        j.flags = (j.flags & ~FLAG_SEALED) | FLAG_UNSEALED;
        emit SealRemoved(id, key, uint8(cause));
        if (terms.dutySelectors.length == 0) return;
        uint256 deadline = duties.unseal(id, terms, _endsUnsealed(terms, j));
        if (deadline != 0) {
            j.flags |= FLAG_DUTIES;
            _due(id, true, deadline);
        }
    }

    /// Shows that the segment a run called impossible is possible. The caller gets nothing: the proof is anybody's who
    /// copies it.
    function refute(
        Terms calldata terms,
        bytes32 last,
        bytes32[] calldata path,
        bytes32 afterwards,
        bytes calldata seal
    ) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (j.outcome != OUTCOME_RANGE) revert RUN_OUTCOME(j.outcome, j.upTo);
        if (j.flags & (FLAG_SEALED | FLAG_UNSEALED) != 0) revert CHALLENGE_CLOSED();
        _inWindow(terms, j);
        duties.refute(id, terms, last, path, afterwards, seal);
        _end(id, terms, j, State.Slashed, 0, terms.stake, address(0));
    }

    /// Fixes the sample from the two secrets that were committed to before the run.
    function draw(Terms calldata terms, bytes32 seedClient) external {
        (bytes32 id,) = _committed(terms);
        (bytes32 seed, uint256 deadline) = duties.draw(id, terms, seedClient);
        _drawn(id, seed, false, deadline);
    }

    /// The client stayed silent: the mix of one block decides.
    function drawFallback(Terms calldata terms, bytes calldata header) external {
        (bytes32 id,) = _committed(terms);
        (bytes32 seed, uint256 deadline) = duties.drawFallback(id, terms, header);
        _drawn(id, seed, true, deadline);
    }

    function _inWindow(Terms calldata terms, Job storage j) private view {
        _inTime(uint256(j.since) + terms.windows.challenge);
    }

    function _drawn(bytes32 id, bytes32 seed, bool fromBlock, uint256 deadline) private {
        emit SampleDrawn(id, seed, fromBlock, deadline);
    }

    /// The seal is gone, and nothing else could make the run good: no proof delivers a result, or shows that none exists.
    function _endsUnsealed(Terms calldata terms, Job storage j) internal view returns (bool) {
        return j.flags & FLAG_UNSEALED != 0
            && (terms.mode & MODE_REVEAL != 0 || terms.dutySelectors.length == 0 || j.outcome == OUTCOME_RANGE);
    }

    function _refund(bytes32 id, Terms calldata terms, uint256 segment, address challenger) private {
        emit BondRefunded(id, segment, challenger, terms.bond);
        _credit(challenger, terms.token, terms.bond);
    }
}
