// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ITeeVerifier} from "./interfaces/ITeeVerifier.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {
    BPS,
    DUTY_SELECTORS_MAX,
    MODE_FULL,
    MODE_MASK,
    MODE_OPTIMISTIC,
    MODE_REVEAL,
    MODE_SAMPLE,
    MODE_TEE,
    SEGMENTS_MAX,
    Terms,
    Windows
} from "./Types.sol";
import {
    ROUTER_TOMBSTONED,
    TERMS_BOND,
    TERMS_EXPIRED,
    TERMS_LIVENESS,
    TERMS_MODE,
    TERMS_SAMPLES,
    TERMS_SEGMENTS,
    TERMS_SELECTORS,
    TERMS_SHARE,
    TERMS_TIER,
    TERMS_WINDOW
} from "./Errors.sol";

// 2^24 seconds, about 194 days.
uint32 constant WINDOW_MAX = 2 ** 24 - 1;

/// What `open` and `void` refuse: settlement §5, §6. A contract of its own because Settlement has no room for it.
contract TermsRules {
    function check(Terms calldata terms, IVerifierRouter router) external view {
        uint8 mode = terms.mode;
        if (terms.segments == 0 || terms.segments > SEGMENTS_MAX) revert TERMS_SEGMENTS(terms.segments);
        if (mode & ~MODE_MASK != 0 || mode & (MODE_TEE | MODE_FULL | MODE_SAMPLE | MODE_OPTIMISTIC) == 0) {
            revert TERMS_MODE(mode);
        }
        if (mode & MODE_REVEAL != 0 && mode & MODE_TEE == 0) revert TERMS_MODE(mode);
        // A sample of what is proved throughout says nothing.
        if (mode & MODE_FULL != 0 && mode & MODE_SAMPLE != 0) revert TERMS_MODE(mode);
        if (mode & MODE_TEE != 0 && terms.minTier == 0) revert TERMS_TIER(terms.minTier);
        if (terms.liveness > terms.stake) revert TERMS_LIVENESS(terms.liveness, terms.stake);
        if (terms.bondFee == 0 || terms.bondFee > terms.bond) revert TERMS_BOND(terms.bond, terms.bondFee);
        if (terms.failShareBps > BPS) revert TERMS_SHARE(terms.failShareBps);
        if (terms.holdbackBps > BPS) revert TERMS_SHARE(terms.holdbackBps);
        bool sampled = mode & MODE_SAMPLE != 0;
        if (sampled == (terms.samples == 0) || terms.samples > uint256(terms.segments) * 8) {
            revert TERMS_SAMPLES(terms.samples);
        }
        if (block.timestamp > terms.acceptBy) revert TERMS_EXPIRED(terms.acceptBy);
        _checkWindows(terms.windows, mode);
        _checkSelectors(terms, mode, router);
    }

    /// Whether a duty of this job can be met, or with `seal` the whole job by an enclave.
    function anyLive(Terms calldata terms, IVerifierRouter router, bool seal) external view returns (bool) {
        if (seal && terms.mode & MODE_TEE != 0 && router.isLive(terms.teeSelector)) return true;
        for (uint256 i = 0; i < terms.dutySelectors.length; ++i) {
            if (router.isLive(terms.dutySelectors[i])) return true;
        }
        return false;
    }

    /// Whether a seal of `key` would still be accepted for this job.
    function enclaveLive(Terms calldata terms, IVerifierRouter router, address key, address provider)
        external
        view
        returns (bool)
    {
        if (!router.isLive(terms.teeSelector)) return false;
        ITeeVerifier tee = ITeeVerifier(address(router.verifierOf(terms.teeSelector)));
        return tee.isLive(key, terms.policy, provider, terms.minTier);
    }

    function _checkWindows(Windows calldata w, uint8 mode) private pure {
        bool duties = mode & (MODE_FULL | MODE_SAMPLE | MODE_OPTIMISTIC) != 0 || w.challenge != 0;
        if (
            w.start == 0 || w.compute == 0 || (mode & MODE_OPTIMISTIC != 0 && w.challenge == 0)
                || (mode & MODE_SAMPLE != 0 && w.draw == 0) || (duties && (w.prove == 0 || w.provePer == 0))
                || (mode & MODE_REVEAL != 0 && w.reveal == 0)
        ) revert TERMS_WINDOW();
        // Sums of as many windows as a job has duties stay far below the 40 bits of a time.
        uint32 longest = w.start | w.compute | w.draw | w.challenge | w.prove | w.provePer | w.hold | w.reveal | w.ack;
        if (longest > WINDOW_MAX) revert TERMS_WINDOW();
    }

    function _checkSelectors(Terms calldata terms, uint8 mode, IVerifierRouter router) private view {
        uint256 count = terms.dutySelectors.length;
        bool duties = mode & (MODE_FULL | MODE_SAMPLE | MODE_OPTIMISTIC) != 0 || terms.windows.challenge != 0;
        if (count > DUTY_SELECTORS_MAX || (duties && count == 0)) revert TERMS_SELECTORS();
        for (uint256 i = 0; i < count; ++i) {
            if (!router.isLive(terms.dutySelectors[i])) revert ROUTER_TOMBSTONED(terms.dutySelectors[i]);
        }
        if (mode & MODE_TEE != 0 && !router.isLive(terms.teeSelector)) revert ROUTER_TOMBSTONED(terms.teeSelector);
    }
}
