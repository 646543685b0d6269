// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IBlockRandao} from "./interfaces/IBlockRandao.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {BorderTree} from "./libraries/BorderTree.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    Challenge,
    MODE_FULL,
    MODE_OPTIMISTIC,
    MODE_SAMPLE,
    MODE_TEE,
    Terms,
    Transition
} from "./Types.sol";
import {
    CHALLENGE_CLOSED,
    DRAW_NONE,
    DUTY_EXISTS,
    DUTY_NONE,
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

uint8 constant DUTY_ALL = 1; // every segment is due
uint8 constant DUTY_SAMPLE = 2; // a sample is due
uint8 constant DUTY_DRAWN = 4;
uint8 constant DUTY_BY_UNSEAL = 8; // all are due only because the seal was taken away

/// What one committed run owes.
struct Duty {
    uint40 setDeadline; // of the duties that no challenger opened
    uint40 lastDeadline;
    uint40 lastDuty; // the newest proof of a segment that was owed, or that nobody can challenge any more for it
    uint40 drawFrom;
    uint40 drawUntil;
    uint16 upTo;
    uint16 proved;
    uint8 flags;
    uint8 used; // bit i: dutySelectors[i] proved a segment
    // next word
    uint64 drawBlock;
    uint16 open; // challenged segments not yet proved
    bytes32 root;
    bytes32 seed; // provider's, then the sample's
}

/// Segments that must be proved: how they become due, how they are met, what follows when not. All state is kept for the
/// caller, a Settlement; there is no money here. contracts/SPEC.md §7, §8.
contract Duties {
    uint256 private constant HISTORY_BLOCKS = 8191; // EIP-2935
    uint256 public constant DRAW_GRACE = 7 days;

    IVerifierRouter public immutable router;
    IBlockRandao public immutable randao;

    mapping(address settlement => mapping(bytes32 job => Duty)) private _duties;
    mapping(address settlement => mapping(bytes32 job => mapping(uint256 word => uint256))) private _proved;
    mapping(address settlement => mapping(bytes32 job => mapping(uint256 segment => Challenge))) private _challenges;

    constructor(IVerifierRouter router_, IBlockRandao randao_) {
        router = router_;
        randao = randao_;
    }

    function dutyOf(address settlement, bytes32 job) external view returns (Duty memory) {
        return _duties[settlement][job];
    }

    function challengeOf(address settlement, bytes32 job, uint256 segment) external view returns (Challenge memory) {
        return _challenges[settlement][job][segment];
    }

    function isProved(address settlement, bytes32 job, uint256 segment) external view returns (bool) {
        return _proved[settlement][job][segment >> 8] & (1 << (segment & 255)) != 0;
    }

    /// The set of segments that must be proved without anybody's challenge: contracts/SPEC.md §7.
    /// @param isSealed the clock then starts when nobody can take the seal away any more
    /// @return due 0: none, 1: a sample, 2: all
    function commit(bytes32 job, Terms calldata terms, bytes32 root, uint16 upTo, bool isSealed, bytes32 seed)
        external
        returns (uint256 due, uint256 deadline)
    {
        Duty storage d = _duties[msg.sender][job];
        d.root = root;
        d.upTo = upTo;
        if (upTo == 0) return (0, 0);
        uint16 mode = terms.mode;
        uint256 clock = isSealed ? block.timestamp + terms.windows.challenge + 1 : block.timestamp;
        if (mode & MODE_FULL != 0 || (mode & MODE_TEE != 0 && !isSealed)) {
            // Without its seal a TEE job is proved whole.
            return (2, _allDue(d, terms, clock));
        }
        if (mode & MODE_SAMPLE == 0) return (0, 0);
        d.flags = DUTY_SAMPLE;
        d.seed = seed;
        d.drawFrom = uint40(clock + terms.windows.finality);
        d.drawUntil = d.drawFrom + terms.windows.draw;
        d.drawBlock = uint64(block.number + terms.windows.drawBlocks);
        return (1, d.drawUntil);
    }

    /// The caller has seen to the window.
    function challenge(bytes32 job, Terms calldata terms, uint256 segment, address challenger)
        external
        returns (uint40 deadline)
    {
        Duty storage d = _unproved(job, segment);
        if (terms.mode & (MODE_OPTIMISTIC | MODE_TEE) == 0) revert CHALLENGE_CLOSED();
        _requireProvable(terms);
        Challenge storage c = _challenges[msg.sender][job][segment];
        if (c.challenger != address(0) || d.flags & DUTY_ALL != 0) revert DUTY_EXISTS(segment);
        deadline = uint40(_base(d, terms, block.timestamp) + terms.windows.provePer);
        d.lastDeadline = deadline;
        d.open += 1;
        c.challenger = challenger;
        c.deadline = deadline;
    }

    /// Anyone may bring the proof. A segment may be proved before it is due.
    /// @param inWindow challenges are heard: the proof forestalls one, so an unsound verifier must not gain by being early
    /// @return challenger whose challenge it answers, or zero
    function discharge(
        bytes32 job,
        Terms calldata terms,
        uint256 segment,
        Transition calldata t,
        bytes calldata seal,
        bool inWindow
    ) external returns (address challenger) {
        Duty storage d = _unproved(job, segment);
        Challenge memory c = _challenges[msg.sender][job][segment];
        challenger = c.challenger;
        uint256 deadline = challenger != address(0) ? c.deadline : d.flags & (DUTY_ALL | DUTY_DRAWN) != 0 ? d.setDeadline : 0;
        if (deadline != 0 && block.timestamp > deadline) revert TOO_LATE(deadline);
        uint256 count = uint256(d.upTo) + 1;
        if (
            !BorderTree.contains(d.root, count, segment, t.before, t.pathBefore)
                || !BorderTree.contains(d.root, count, segment + 1, t.afterwards, t.pathAfter)
        ) revert SEGMENT_PATH(segment);
        uint256 place = _verify(job, terms, segment, t.before, t.afterwards, seal);
        _proved[msg.sender][job][segment >> 8] |= 1 << (segment & 255);
        d.proved += 1;
        d.used |= uint8(1 << place);
        if (challenger != address(0)) {
            delete _challenges[msg.sender][job][segment];
            d.open -= 1;
        }
        bool forestalls = inWindow && terms.mode & (MODE_OPTIMISTIC | MODE_TEE) != 0;
        if (challenger != address(0) || forestalls || _isInSet(d, terms, segment)) d.lastDuty = uint40(block.timestamp);
    }

    /// Reverts unless a due segment was not proved in time.
    /// @param sample where the segment stands in the sample; read only when no challenger asked for it
    /// @return challenger who asked for it, or zero
    /// @return byUnseal it was due only because the seal was taken away
    function lapse(bytes32 job, Terms calldata terms, uint256 segment, uint256 sample)
        external
        returns (address challenger, bool byUnseal)
    {
        Duty storage d = _unproved(job, segment);
        _requireProvable(terms);
        Challenge memory c = _challenges[msg.sender][job][segment];
        if (c.challenger != address(0) && block.timestamp > c.deadline) {
            delete _challenges[msg.sender][job][segment];
            d.open -= 1;
            return (c.challenger, false);
        }
        uint8 flags = d.flags;
        if (flags & DUTY_ALL == 0) {
            bool drawn = flags & DUTY_DRAWN != 0 && sample < terms.samples && _sampleAt(d.seed, sample, d.upTo) == segment;
            if (!drawn) {
                if (c.challenger != address(0)) revert TOO_EARLY(c.deadline);
                revert DUTY_NONE(segment);
            }
        }
        if (block.timestamp <= d.setDeadline) revert TOO_EARLY(d.setDeadline);
        return (address(0), flags & DUTY_BY_UNSEAL != 0);
    }

    /// Forgets a challenge of a job that has ended, and tells whose it was.
    function forget(bytes32 job, uint256 segment) external returns (address challenger) {
        challenger = _challenges[msg.sender][job][segment].challenger;
        if (challenger == address(0)) revert DUTY_NONE(segment);
        delete _challenges[msg.sender][job][segment];
        _duties[msg.sender][job].open -= 1;
    }

    /// The seal was taken away. Unless the job ends for it, all segments fall due, once.
    /// @return deadline of all, or 0 when nothing became due
    function unseal(bytes32 job, Terms calldata terms, bool ends) external returns (uint256 deadline) {
        Duty storage d = _duties[msg.sender][job];
        if (ends) {
            // What the mode demands has not begun.
            d.flags = 0;
        } else if (d.flags & DUTY_ALL == 0 && d.upTo != 0) {
            d.flags = DUTY_BY_UNSEAL;
            deadline = _allDue(d, terms, block.timestamp);
        }
    }

    /// Reverts unless the segment that the run called impossible is shown to be possible.
    function refute(
        bytes32 job,
        Terms calldata terms,
        bytes32 last,
        bytes32[] calldata path,
        bytes32 afterwards,
        bytes calldata seal
    ) external view {
        Duty storage d = _duties[msg.sender][job];
        uint256 upTo = d.upTo;
        if (!BorderTree.contains(d.root, upTo + 1, upTo, last, path)) revert SEGMENT_PATH(upTo);
        _verify(job, terms, upTo, last, afterwards, seal);
    }

    /// Fixes the sample from the two secrets that were committed to before the run.
    function draw(bytes32 job, Terms calldata terms, bytes32 seedClient)
        external
        returns (bytes32 seed, uint256 deadline)
    {
        Duty storage d = _undrawn(job);
        if (block.timestamp < d.drawFrom) revert TOO_EARLY(d.drawFrom);
        if (block.timestamp > d.drawUntil) revert TOO_LATE(d.drawUntil);
        if (keccak256(abi.encode(seedClient)) != terms.seedCommitClient) revert SEED(terms.seedCommitClient);
        return _draw(d, terms, keccak256(abi.encode(seedClient, d.seed, job, d.root)));
    }

    /// The client stayed silent: the RANDAO mix of the one block that commit fixed decides.
    function drawFallback(bytes32 job, Terms calldata terms, bytes calldata header)
        external
        returns (bytes32 seed, uint256 deadline)
    {
        Duty storage d = _undrawn(job);
        if (block.timestamp <= d.drawUntil) revert TOO_EARLY(d.drawUntil);
        uint256 number = _drawBlock(d);
        if (block.number <= number) revert TOO_EARLY(number);
        return _draw(d, terms, keccak256(abi.encode(randao.mixOf(number, header), job, d.root)));
    }

    /// Whether every duty is met, and the newest proof of one.
    function standing(bytes32 job, Terms calldata terms) external view returns (bool met, uint256 lastDuty) {
        Duty storage d = _duties[msg.sender][job];
        return (_isMet(job, terms, d), d.lastDuty);
    }

    function challengedOpen(bytes32 job) external view returns (uint256) {
        return _duties[msg.sender][job].open;
    }

    /// Whether the first `segments` segments are all proved.
    function isPrefixProved(bytes32 job, uint256 segments) external view returns (bool) {
        for (uint256 word = 0; word << 8 < segments; ++word) {
            uint256 left = segments - (word << 8);
            uint256 mask = left >= 256 ? type(uint256).max : (1 << left) - 1;
            if (_proved[msg.sender][job][word] & mask != mask) return false;
        }
        return true;
    }

    /// Whether nobody can be expected to make the run good: no verifier is left for what is owed; one that proved a duty
    /// was tombstoned within `hold`; or nobody could draw. Never where the run could be paid.
    function isStuck(bytes32 job, Terms calldata terms) external view returns (bool) {
        Duty storage d = _duties[msg.sender][job];
        if (!_isMet(job, terms, d)) {
            bool undrawn = d.flags & (DUTY_SAMPLE | DUTY_DRAWN) == DUTY_SAMPLE;
            return (undrawn && block.timestamp > d.drawUntil + DRAW_GRACE) || !_isProvable(terms);
        }
        if (d.lastDuty == 0 || block.timestamp > uint256(d.lastDuty) + terms.windows.hold) return false;
        for (uint256 i = 0; i < terms.dutySelectors.length; ++i) {
            if (d.used & (1 << i) != 0 && !router.isLive(terms.dutySelectors[i])) return true;
        }
        return false;
    }

    /// Reads at most SEGMENTS_MAX·8 samples, in fact k.
    function _isMet(bytes32 job, Terms calldata terms, Duty storage d) private view returns (bool) {
        uint8 flags = d.flags;
        if (d.open != 0) return false;
        if (d.proved == d.upTo) return true;
        if (flags & DUTY_ALL != 0) return false;
        if (flags & DUTY_SAMPLE == 0) return true;
        if (flags & DUTY_DRAWN == 0) return false;
        bytes32 seed = d.seed;
        uint256 upTo = d.upTo;
        uint256 cachedIndex = type(uint256).max;
        uint256 cached;
        for (uint256 a = 0; a < terms.samples; ++a) {
            uint256 segment = _sampleAt(seed, a, upTo);
            if (segment >> 8 != cachedIndex) {
                cachedIndex = segment >> 8;
                cached = _proved[msg.sender][job][cachedIndex];
            }
            if (cached & (1 << (segment & 255)) == 0) return false;
        }
        return true;
    }

    /// Whether the segment is due without a challenge.
    function _isInSet(Duty storage d, Terms calldata terms, uint256 segment) private view returns (bool) {
        uint8 flags = d.flags;
        if (flags & DUTY_ALL != 0) return true;
        if (flags & DUTY_DRAWN == 0) return false;
        (bytes32 seed, uint256 upTo) = (d.seed, d.upTo);
        for (uint256 a = 0; a < terms.samples; ++a) if (_sampleAt(seed, a, upTo) == segment) return true;
        return false;
    }

    /// Nobody owes a proof that no verifier would judge: such a job can be voided.
    function _requireProvable(Terms calldata terms) private view {
        if (!_isProvable(terms)) revert VERIFIER_DEAD();
    }

    function _isProvable(Terms calldata terms) private view returns (bool) {
        for (uint256 i = 0; i < terms.dutySelectors.length; ++i) {
            if (router.isLive(terms.dutySelectors[i])) return true;
        }
        return false;
    }

    function _unproved(bytes32 job, uint256 segment) private view returns (Duty storage d) {
        d = _duties[msg.sender][job];
        if (segment >= d.upTo) revert SEGMENT_INDEX(segment, d.upTo);
        if (_proved[msg.sender][job][segment >> 8] & (1 << (segment & 255)) != 0) revert SEGMENT_PROVED(segment);
    }

    function _undrawn(bytes32 job) private view returns (Duty storage d) {
        d = _duties[msg.sender][job];
        if (d.flags & (DUTY_SAMPLE | DUTY_DRAWN) != DUTY_SAMPLE) revert DRAW_NONE();
    }

    function _draw(Duty storage d, Terms calldata terms, bytes32 seed) private returns (bytes32, uint256) {
        d.seed = seed;
        d.flags |= DUTY_DRAWN;
        return (seed, _setDeadline(d, terms, terms.samples, block.timestamp));
    }

    function _allDue(Duty storage d, Terms calldata terms, uint256 clock) private returns (uint256) {
        d.flags |= DUTY_ALL;
        return _setDeadline(d, terms, d.upTo, clock);
    }

    /// A provider that proves one segment per `provePer`, earliest deadline first, meets every deadline. What was proved
    /// before it was due counts for `hold` from now.
    function _setDeadline(Duty storage d, Terms calldata terms, uint256 count, uint256 clock)
        private
        returns (uint40 deadline)
    {
        deadline = uint40(_base(d, terms, clock) + count * terms.windows.provePer);
        (d.setDeadline, d.lastDeadline) = (deadline, deadline);
        if (d.proved != 0) d.lastDuty = uint40(block.timestamp);
    }

    function _base(Duty storage d, Terms calldata terms, uint256 clock) private view returns (uint256 base) {
        base = clock + terms.windows.prove;
        if (d.lastDeadline > base) base = d.lastDeadline;
    }

    /// If all parties slept until its hash was forgotten, the next block a whole history later.
    function _drawBlock(Duty storage d) private view returns (uint256 number) {
        number = d.drawBlock;
        if (block.number > number + HISTORY_BLOCKS) {
            number += (block.number - number - 1) / HISTORY_BLOCKS * HISTORY_BLOCKS;
        }
    }

    function _sampleAt(bytes32 seed, uint256 a, uint256 upTo) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, a))) % upTo;
    }

    /// @return place of the seal's selector among the terms'
    function _verify(
        bytes32 job,
        Terms calldata terms,
        uint256 segment,
        bytes32 before,
        bytes32 afterwards,
        bytes calldata seal
    ) private view returns (uint256 place) {
        if (seal.length < 4) revert SEAL_LENGTH(seal.length);
        bytes4 selector = bytes4(seal[:4]);
        for (place = 0; place < terms.dutySelectors.length; ++place) {
            if (terms.dutySelectors[place] == selector) {
                bytes32 statement = Statements.segment(job, segment, before, afterwards);
                router.verifierOf(selector).verify(seal, Statements.digest(msg.sender, statement));
                return place;
            }
        }
        revert SEAL_SELECTOR(selector);
    }
}
