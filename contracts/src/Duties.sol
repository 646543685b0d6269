// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BlockRandao} from "./BlockRandao.sol";
import {Running} from "./Running.sol";
import {BorderTree} from "./libraries/BorderTree.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    Challenge,
    FLAG_ALL_DUE,
    FLAG_DRAWN,
    FLAG_SAMPLE_DUE,
    FLAG_SEALED,
    Job,
    MODE_OPTIMISTIC,
    MODE_TEE,
    OUTCOME_RANGE,
    State,
    Terms
} from "./Types.sol";
import {
    CHALLENGE_CLOSED,
    DRAW_NONE,
    DUTY_EXISTS,
    DUTY_NONE,
    ENCLAVE_LIVE,
    JOB_STATE,
    RUN_OUTCOME,
    SEAL_LENGTH,
    SEAL_SELECTOR,
    SEED,
    SEGMENT_INDEX,
    SEGMENT_PATH,
    SEGMENT_PROVED,
    TOO_EARLY,
    TOO_LATE,
    VERIFIER_DEAD
} from "./Errors.sol";

/// One committed transition: the two borders and their Merkle paths.
struct Transition {
    bytes32 before;
    bytes32 afterwards;
    bytes32[] pathBefore;
    bytes32[] pathAfter;
}

/// Segments that must be proved: how they become due, how they are met, what follows when not. Settlement §7, §8.
abstract contract Duties is Running {
    uint256 private constant DRAW_DELAY_BLOCKS = 32;
    uint256 private constant HISTORY_BLOCKS = 8191; // EIP-2935

    BlockRandao public immutable randao;

    constructor(BlockRandao randao_) {
        randao = randao_;
    }

    function challenge(Terms calldata terms, uint256 segment) external payable {
        (bytes32 id, Job storage j) = _unproved(terms, segment);
        uint256 until = uint256(j.since) + terms.windows.challenge;
        if (terms.windows.challenge == 0 || terms.mode & (MODE_OPTIMISTIC | MODE_TEE) == 0) revert CHALLENGE_CLOSED();
        _inTime(until);
        _requireProvable(terms);
        Challenge storage c = _challenges[id][segment];
        if (c.challenger != address(0) || j.flags & FLAG_ALL_DUE != 0) revert DUTY_EXISTS(segment);
        uint40 deadline = uint40(_dutyBase(terms, j) + terms.windows.provePer);
        j.lastDeadline = deadline;
        j.openDuties += 1;
        c.challenger = msg.sender;
        c.deadline = deadline;
        emit DutyOpened(id, segment, msg.sender, deadline, terms.bond);
        _pull(terms.token, terms.bond);
    }

    /// Anyone may bring the proof; what it earns goes to the provider. A segment may be proved before it is due.
    function discharge(Terms calldata terms, uint256 segment, Transition calldata t, bytes calldata seal) external {
        (bytes32 id, Job storage j) = _unproved(terms, segment);
        uint256 deadline = _deadlineOf(id, j, segment);
        if (deadline != 0 && block.timestamp > deadline) revert TOO_LATE(deadline);
        uint256 count = uint256(j.upTo) + 1;
        if (
            !BorderTree.contains(j.root, count, segment, t.before, t.pathBefore)
                || !BorderTree.contains(j.root, count, segment + 1, t.afterwards, t.pathAfter)
        ) revert SEGMENT_PATH(segment);
        _verifySegment(id, terms, segment, t.before, t.afterwards, seal);

        _proved[id][segment >> 8] |= 1 << (segment & 255);
        j.proved += 1;
        j.lastProof = uint40(block.timestamp);
        emit DutyDischarged(id, segment, bytes4(seal[:4]), msg.sender);
        if (_challenges[id][segment].challenger != address(0)) {
            delete _challenges[id][segment];
            j.openDuties -= 1;
            _credit(_providerOf(terms, j), terms.token, terms.bond - terms.bondFee);
            _credit(treasury, terms.token, terms.bondFee);
        }
    }

    /// A due segment was not proved in time.
    /// @param sample where the segment stands in the sample; read only when no challenger asked for it
    function lapse(Terms calldata terms, uint256 segment, uint256 sample) external {
        (bytes32 id, Job storage j) = _unproved(terms, segment);
        _requireProvable(terms);
        Challenge memory c = _challenges[id][segment];
        if (c.challenger != address(0) && block.timestamp > c.deadline) {
            delete _challenges[id][segment];
            j.openDuties -= 1;
            _end(id, terms, j, State.Slashed, 0, terms.stake, c.challenger);
            emit BondRefunded(id, segment, c.challenger, terms.bond);
            _credit(c.challenger, terms.token, terms.bond);
            return;
        }
        if (j.flags & FLAG_ALL_DUE == 0) {
            bool sampled = j.flags & FLAG_DRAWN != 0 && sample < terms.samples
                && _sampleAt(j.seed, sample, j.upTo) == segment;
            if (!sampled) {
                if (c.challenger != address(0)) revert TOO_EARLY(c.deadline);
                revert DUTY_NONE(segment);
            }
        }
        _past(j.setDeadline);
        _end(id, terms, j, State.Slashed, 0, terms.stake, address(0));
    }

    /// The bond of a duty that was still open when the job ended.
    function refundBond(Terms calldata terms, uint256 segment) external {
        bytes32 id = Statements.job(terms);
        Job storage j = _jobs[id];
        if (j.state <= State.Committed) revert JOB_STATE(id, uint8(j.state));
        address challenger = _challenges[id][segment].challenger;
        if (challenger == address(0)) revert DUTY_NONE(segment);
        delete _challenges[id][segment];
        j.openDuties -= 1;
        emit BondRefunded(id, segment, challenger, terms.bond);
        _credit(challenger, terms.token, terms.bond);
    }

    /// The key behind the seal is no longer good while the window is open: the seal stops counting.
    function escalate(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _committed(terms);
        uint256 until = uint256(j.since) + terms.windows.challenge;
        if (j.flags & FLAG_SEALED == 0 || terms.windows.challenge == 0) revert CHALLENGE_CLOSED();
        _inTime(until);
        address key = j.enclaveKey;
        if (rules.enclaveLive(terms, router, key, _providerOf(terms, j))) revert ENCLAVE_LIVE(key);
        j.flags &= ~FLAG_SEALED;
        emit Escalated(id, key);
        if (j.flags & FLAG_SAMPLE_DUE == 0) _decideDuties(id, terms, j, false);
    }

    /// Shows that the segment a run called impossible is possible; the caller is paid like a challenger.
    function refute(
        Terms calldata terms,
        bytes32 last,
        bytes32[] calldata path,
        bytes32 afterwards,
        bytes calldata seal
    ) external {
        (bytes32 id, Job storage j) = _committed(terms);
        uint256 upTo = j.upTo;
        if (j.outcome != OUTCOME_RANGE) revert RUN_OUTCOME(j.outcome, upTo);
        if (!BorderTree.contains(j.root, upTo + 1, upTo, last, path)) revert SEGMENT_PATH(upTo);
        _verifySegment(id, terms, upTo, last, afterwards, seal);
        _end(id, terms, j, State.Slashed, 0, terms.stake, msg.sender);
    }

    /// Fixes the sample from the two secrets that were committed to before the run.
    function draw(Terms calldata terms, bytes32 seedClient) external {
        (bytes32 id, Job storage j) = _loadUndrawn(terms);
        _inTime(j.drawUntil);
        if (keccak256(abi.encode(seedClient)) != terms.seedCommitClient) revert SEED(terms.seedCommitClient);
        _draw(id, terms, j, keccak256(abi.encode(seedClient, j.seed, id, j.root)), false);
    }

    /// The client stayed silent: the RANDAO mix of the one block fixed by _drawBlock decides.
    function drawFallback(Terms calldata terms, bytes calldata header) external {
        (bytes32 id, Job storage j) = _loadUndrawn(terms);
        _past(j.drawUntil);
        uint256 number = _drawBlock(j);
        if (block.number <= number) revert TOO_EARLY(number);
        _draw(id, terms, j, keccak256(abi.encode(randao.mixOf(number, header), id, j.root)), true);
    }

    /// Whether every duty is met; reads at most SEGMENTS_MAX·8 samples, in fact k.
    function _dutiesMet(bytes32 id, Terms calldata terms, Job storage j) internal view returns (bool) {
        uint16 flags = j.flags;
        if (j.openDuties != 0) return false;
        if (flags & FLAG_ALL_DUE != 0 && j.proved != j.upTo) return false;
        if (flags & FLAG_SAMPLE_DUE == 0) return true;
        if (flags & FLAG_DRAWN == 0) return false;
        if (j.proved == j.upTo) return true;
        bytes32 seed = j.seed;
        uint256 upTo = j.upTo;
        uint256 cachedIndex = type(uint256).max;
        uint256 cached;
        for (uint256 a = 0; a < terms.samples; ++a) {
            uint256 segment = _sampleAt(seed, a, upTo);
            if (segment >> 8 != cachedIndex) {
                cachedIndex = segment >> 8;
                cached = _proved[id][cachedIndex];
            }
            if (cached & (1 << (segment & 255)) == 0) return false;
        }
        return true;
    }

    /// Nobody owes a proof that no verifier would judge: such a job can be voided.
    function _requireProvable(Terms calldata terms) private view {
        if (!rules.anyLive(terms, router, false)) revert VERIFIER_DEAD();
    }

    function _unproved(Terms calldata terms, uint256 segment) private view returns (bytes32 id, Job storage j) {
        (id, j) = _committed(terms);
        if (segment >= j.upTo) revert SEGMENT_INDEX(segment, j.upTo);
        if (isProved(id, segment)) revert SEGMENT_PROVED(segment);
    }

    function _loadUndrawn(Terms calldata terms) private view returns (bytes32 id, Job storage j) {
        (id, j) = _committed(terms);
        if (j.flags & FLAG_SAMPLE_DUE == 0 || j.flags & FLAG_DRAWN != 0) revert DRAW_NONE();
    }

    function _draw(bytes32 id, Terms calldata terms, Job storage j, bytes32 seed, bool fromBlock) private {
        j.seed = seed;
        j.flags |= FLAG_DRAWN;
        emit SampleDrawn(id, seed, fromBlock, _setDeadline(terms, j, terms.samples));
    }

    /// drawBlock + 32; if all parties slept until its hash was forgotten, the next block a whole history later.
    function _drawBlock(Job storage j) private view returns (uint256 number) {
        number = uint256(j.drawBlock) + DRAW_DELAY_BLOCKS;
        if (block.number > number + HISTORY_BLOCKS) {
            number += (block.number - number - 1) / HISTORY_BLOCKS * HISTORY_BLOCKS;
        }
    }

    function _sampleAt(bytes32 seed, uint256 a, uint256 upTo) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, a))) % upTo;
    }

    /// Zero: not due, as far as can be told without the place in the sample.
    function _deadlineOf(bytes32 id, Job storage j, uint256 segment) private view returns (uint256) {
        Challenge storage c = _challenges[id][segment];
        if (c.challenger != address(0)) return c.deadline;
        return j.flags & (FLAG_ALL_DUE | FLAG_DRAWN) != 0 ? j.setDeadline : 0;
    }

    function _verifySegment(
        bytes32 id,
        Terms calldata terms,
        uint256 segment,
        bytes32 before,
        bytes32 afterwards,
        bytes calldata seal
    ) private view {
        if (seal.length < 4) revert SEAL_LENGTH(seal.length);
        bytes4 selector = bytes4(seal[:4]);
        for (uint256 i = 0; i < terms.dutySelectors.length; ++i) {
            if (terms.dutySelectors[i] == selector) {
                router.verify(seal, _typedDigest(Statements.segment(id, segment, before, afterwards)));
                return;
            }
        }
        revert SEAL_SELECTOR(selector);
    }
}
