// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {BorderTree} from "./libraries/BorderTree.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    FLAG_ALL_DUE,
    FLAG_EXPOSED,
    FLAG_SAMPLE_DUE,
    FLAG_SEALED,
    FLAG_STOP,
    Job,
    MODE_FULL,
    MODE_REVEAL,
    MODE_SAMPLE,
    MODE_TEE,
    OUTCOME_COMPLETE,
    OUTCOME_RANGE,
    OUTCOME_STOPPED,
    State,
    Terms
} from "./Types.sol";
import {
    AMOUNT,
    EXPOSURE,
    RUN_DELIVERY,
    RUN_LENGTH,
    RUN_OUTCOME,
    RUN_START,
    SEAL_LENGTH,
    SEAL_MISSING,
    SEAL_SELECTOR,
    SEED,
    TOO_EARLY,
    TOO_LATE
} from "./Errors.sol";

/// What the provider hands in, and when.
struct Run {
    uint8 outcome;
    bytes32[] borders; // border 0 … border upTo
    bytes32 seedProvider; // SAMPLE only
    bytes32 delivery;
    bytes seal; // TeeSeal over Run, or empty
}

/// The run: commit, stop, abandon, and payment by voucher meanwhile. Settlement §6, §7.
abstract contract Running is JobStore {
    /// Price at stake behind one enclave key, in multiples of its provider's stake. Settlement §10.
    uint256 public immutable exposureFactor;

    constructor(uint256 exposureFactor_) {
        exposureFactor = exposureFactor_;
    }

    function commit(Terms calldata terms, Run calldata run) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        address provider = _onlyProvider(terms, j);
        uint256 until = uint256(j.since) + terms.windows.compute;
        _inTime(until);
        uint256 upTo = _checkRun(terms, run, j.flags);
        bytes32 root = BorderTree.rootOf(run.borders);

        address key;
        uint8 tier;
        uint16 flags = j.flags;
        if (run.seal.length != 0) {
            (key, tier) = _checkSeal(id, terms, run, provider, upTo, root);
            flags |= FLAG_SEALED;
        } else if (terms.mode & MODE_TEE != 0 && terms.dutySelectors.length == 0) {
            revert SEAL_MISSING();
        } else if (run.outcome == OUTCOME_RANGE && terms.windows.challenge == 0) {
            revert RUN_OUTCOME(run.outcome, upTo);
        }

        if (terms.windows.challenge != 0 && key != address(0)) {
            _expose(key, provider, terms);
            j.enclaveKey = key;
            flags |= FLAG_EXPOSED;
        }
        if (terms.dutySelectors.length != 0) j.root = root;
        if (run.delivery != 0) j.delivery = run.delivery;
        if (terms.mode & MODE_SAMPLE != 0) {
            if (keccak256(abi.encode(run.seedProvider)) != j.seed) revert SEED(j.seed);
            j.seed = run.seedProvider;
        }
        j.state = State.Committed;
        j.outcome = run.outcome;
        j.upTo = uint16(upTo);
        j.since = uint40(block.timestamp);
        j.flags = flags;
        if (run.delivery != 0) j.ackUntil = uint40(block.timestamp + terms.windows.ack);
        emit JobCommitted(
            id,
            upTo,
            run.outcome,
            root,
            run.borders[0],
            run.borders[upTo],
            run.delivery,
            key,
            tier
        );
        _decideDuties(id, terms, j, flags & FLAG_SEALED != 0);
    }

    /// The client asks for what there is: the provider may then commit a prefix (outcome 2).
    function stop(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _only(terms.client);
        j.flags |= FLAG_STOP;
        emit JobStopRequested(id);
    }

    /// No run in time.
    function abandon(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        uint256 until = uint256(j.since) + terms.windows.compute;
        _past(until);
        _end(id, terms, j, State.Abandoned, 0, terms.liveness, address(0));
    }

    /// Pays up to `cumulative` now, with the client's signature over Voucher.
    function voucher(Terms calldata terms, uint128 cumulative, bytes calldata signature) external {
        (bytes32 id, Job storage j) = _loadLive(terms);
        address provider = _onlyProvider(terms, j);
        if (j.state < State.Started) revert TOO_EARLY(0);
        if (cumulative > terms.price) revert AMOUNT(terms.price, cumulative);
        _requireSignature(terms.client, Statements.voucher(id, cumulative), signature);
        emit VoucherPaid(id, cumulative);
        _payUpTo(terms, j, provider, cumulative);
    }

    function _payUpTo(Terms calldata terms, Job storage j, address provider, uint128 cumulative) internal {
        uint128 paid = j.paid;
        if (cumulative <= paid) revert AMOUNT(cumulative, paid);
        j.paid = cumulative;
        _credit(provider, terms.token, cumulative - paid);
    }

    /// The set of segments that must be proved without anybody's challenge: settlement §7.
    function _decideDuties(bytes32 id, Terms calldata terms, Job storage j, bool sealed_) internal {
        uint8 mode = terms.mode;
        if (j.upTo == 0) return;
        bool fallback_ = mode & MODE_TEE != 0 && !sealed_;
        // FULL and SAMPLE apply beside a seal: they catch a broken enclave. Without its seal a TEE job is proved whole.
        if (mode & MODE_FULL != 0) {
            _allDue(id, terms, j);
        } else if (mode & MODE_SAMPLE != 0) {
            j.flags |= FLAG_SAMPLE_DUE;
            j.drawUntil = uint40(block.timestamp + terms.windows.draw);
            j.drawBlock = uint40(block.number);
            emit SetDue(id, false, j.drawUntil);
        } else if (fallback_) {
            _allDue(id, terms, j);
        }
    }

    function _allDue(bytes32 id, Terms calldata terms, Job storage j) private {
        uint40 deadline = _setDeadline(terms, j, j.upTo);
        j.flags |= FLAG_ALL_DUE;
        emit SetDue(id, true, deadline);
    }

    /// A provider that proves one segment per `provePer`, earliest deadline first, meets every deadline.
    function _setDeadline(Terms calldata terms, Job storage j, uint256 count) internal returns (uint40 deadline) {
        deadline = uint40(_dutyBase(terms, j) + count * terms.windows.provePer);
        j.setDeadline = deadline;
        j.lastDeadline = deadline;
    }

    function _dutyBase(Terms calldata terms, Job storage j) internal view returns (uint256 base) {
        base = block.timestamp + terms.windows.prove;
        if (j.lastDeadline > base) base = j.lastDeadline;
    }

    function _checkRun(Terms calldata terms, Run calldata run, uint16 flags) private pure returns (uint256 upTo) {
        uint256 count = run.borders.length;
        if (count == 0 || count > uint256(terms.segments) + 1) revert RUN_LENGTH(count);
        upTo = count - 1;
        if (run.borders[0] != terms.initialWeights) revert RUN_START(terms.initialWeights, run.borders[0]);
        bool fits = run.outcome == OUTCOME_COMPLETE
            ? upTo == terms.segments
            : run.outcome == OUTCOME_RANGE
                ? upTo < terms.segments
                : run.outcome == OUTCOME_STOPPED && flags & FLAG_STOP != 0;
        if (!fits) revert RUN_OUTCOME(run.outcome, upTo);
        bool reveal = terms.mode & MODE_REVEAL != 0;
        // A run that cannot go on may have no result worth delivering.
        if (reveal && run.delivery == 0 && run.outcome != OUTCOME_RANGE) revert RUN_DELIVERY();
        if (!reveal && run.delivery != 0) revert RUN_DELIVERY();
        if (reveal && run.seal.length == 0) revert SEAL_MISSING();
    }

    function _checkSeal(
        bytes32 id,
        Terms calldata terms,
        Run calldata run,
        address provider,
        uint256 upTo,
        bytes32 root
    ) private view returns (address key, uint8 tier) {
        if (terms.mode & MODE_TEE == 0) revert SEAL_LENGTH(run.seal.length);
        if (run.seal.length < 4) revert SEAL_LENGTH(run.seal.length);
        if (bytes4(run.seal[:4]) != terms.teeSelector) revert SEAL_SELECTOR(bytes4(run.seal[:4]));
        bytes32 statement = Statements.run(id, upTo, run.outcome, root, run.borders[upTo], run.delivery);
        return _verifyEnclave(terms, provider, run.seal, statement);
    }

    function _expose(address key, address provider, Terms calldata terms) private {
        Stake storage s = stakes[provider][terms.token];
        uint256 cap = exposureFactor * (uint256(s.free) + s.locked);
        uint256 next = exposure[key][terms.token] + terms.price;
        if (next > cap) revert EXPOSURE(key, next, cap);
        exposure[key][terms.token] = next;
    }
}
