// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {BorderTree} from "./libraries/BorderTree.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    FLAG_DUTIES,
    FLAG_SEALED,
    FLAG_STOP,
    Job,
    MODE_EARLY,
    MODE_REVEAL,
    MODE_SAMPLE,
    MODE_TEE,
    OUTCOME_COMPLETE,
    OUTCOME_EARLY,
    OUTCOME_RANGE,
    OUTCOME_STOPPED,
    Run,
    State,
    Terms
} from "./Types.sol";
import {
    AMOUNT,
    RUN_DELIVERY,
    RUN_LENGTH,
    RUN_OUTCOME,
    RUN_START,
    SEAL_MISSING,
    SEAL_MODE,
    SEED
} from "./Errors.sol";

/// The run: commit, stop, resign, abandon, and payment by voucher meanwhile. contracts/SPEC.md §6, §7.
abstract contract Running is JobStore {
    function commit(Terms calldata terms, Run calldata run) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _onlyProvider(terms, j);
        _inCompute(terms, j);
        uint16 flags = j.flags;
        uint256 upTo = _checkRun(terms, run, flags);
        bytes32 root = BorderTree.rootOf(run.borders);
        address sealer;
        if (run.seal.length != 0) {
            sealer = _seal(id, terms, run, upTo, root);
            flags |= FLAG_SEALED;
        } else if (terms.mode & MODE_TEE != 0 && terms.dutySelectors.length == 0) {
            revert SEAL_MISSING();
        }
        if (terms.mode & MODE_SAMPLE != 0 && keccak256(abi.encode(run.seedProvider)) != j.seedCommit) {
            revert SEED(j.seedCommit);
        }
        j.state = State.Committed;
        j.outcome = run.outcome;
        j.upTo = uint16(upTo);
        j.since = uint40(block.timestamp);
        if (run.delivery != 0) {
            j.delivery = run.delivery;
            j.ackUntil = uint40(block.timestamp + terms.windows.ack);
        }
        emit JobCommitted(id, run.outcome, root, run.delivery, sealer, run.keys, run.borders);
        if (terms.dutySelectors.length != 0) {
            (uint256 due, uint256 deadline) =
                duties.commit(id, terms, root, uint16(upTo), sealer != address(0), run.seedProvider);
            if (due != 0) {
                flags |= FLAG_DUTIES;
                _due(id, due == 2, deadline);
            }
        }
        j.flags = flags;
    }

    /// The client asks for what there is: the provider may then commit a prefix (outcome 2).
    function stop(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _only(terms.client);
        j.flags |= FLAG_STOP;
        emit JobStopRequested(id);
    }

    /// The provider gives the job back: it costs time, never stake, so nobody has to show who fell silent first.
    function resign(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _onlyProvider(terms, j);
        _inCompute(terms, j);
        emit JobResigned(id, block.timestamp - j.since);
        _end(id, terms, j, State.Resigned, 0);
    }

    /// No run in time, and no word.
    function abandon(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _past(uint256(j.since) + terms.windows.compute);
        _end(id, terms, j, State.Abandoned, 0, terms.liveness, address(0));
    }

    /// Pays up to `cumulative` now, with the client's signature over Voucher.
    function voucher(Terms calldata terms, uint128 cumulative, bytes calldata signature) external {
        (bytes32 id, Job storage j) = _loadLive(terms, State.Started);
        address provider = _onlyProvider(terms, j);
        if (cumulative > terms.price) revert AMOUNT(terms.price, cumulative);
        _requireClient(terms, Statements.voucher(id, cumulative), signature);
        emit VoucherPaid(id, cumulative);
        _payUpTo(terms, j, provider, cumulative);
    }

    function _payUpTo(Terms calldata terms, Job storage j, address provider, uint128 cumulative) internal {
        uint128 paid = j.paid;
        if (cumulative <= paid) revert AMOUNT(cumulative, paid);
        j.paid = cumulative;
        _credit(provider, terms.token, cumulative - paid);
    }

    function _inCompute(Terms calldata terms, Job storage j) private view {
        _inTime(uint256(j.since) + terms.windows.compute);
    }

    function _seal(bytes32 id, Terms calldata terms, Run calldata run, uint256 upTo, bytes32 root)
        private
        returns (address)
    {
        if (terms.mode & MODE_TEE == 0) revert SEAL_MODE(terms.mode);
        bytes memory facts =
            abi.encode(Statements.RUN, id, upTo, run.outcome, root, run.borders[upTo], run.delivery);
        return _keys(terms).sealer(id, terms.teeSelector, terms.snpPolicy, facts, run.keys, run.seal);
    }

    function _checkRun(Terms calldata terms, Run calldata run, uint16 flags) private pure returns (uint256 upTo) {
        uint256 count = run.borders.length;
        if (count == 0 || count > uint256(terms.segments) + 1) revert RUN_LENGTH(count);
        upTo = count - 1;
        if (run.borders[0] != terms.initialWeights) revert RUN_START(terms.initialWeights, run.borders[0]);
        uint8 outcome = run.outcome;
        bool fits = outcome == OUTCOME_COMPLETE
            ? upTo == terms.segments
            : outcome == OUTCOME_RANGE
                ? upTo < terms.segments
                : outcome == OUTCOME_STOPPED
                    ? flags & FLAG_STOP != 0
                    : outcome == OUTCOME_EARLY && terms.mode & MODE_EARLY != 0 && upTo < terms.segments;
        if (!fits) revert RUN_OUTCOME(outcome, upTo);
        bool reveal = terms.mode & MODE_REVEAL != 0;
        // A run that cannot go on may have no result worth delivering.
        if (reveal && run.delivery == 0 && outcome != OUTCOME_RANGE) revert RUN_DELIVERY();
        if (!reveal && run.delivery != 0) revert RUN_DELIVERY();
        if (run.seal.length == 0 && (reveal || run.keys.length != 0)) revert SEAL_MISSING();
    }
}
