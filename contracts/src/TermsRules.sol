// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {IBlockRandao} from "./interfaces/IBlockRandao.sol";
import {Floors, ITermsRules} from "./interfaces/ITermsRules.sol";
import {IKeys} from "./interfaces/IKeys.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    ATTESTORS_MAX,
    BPS,
    DUTY_SELECTORS_MAX,
    MODE_EARLY,
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
    SIGNATURE,
    TERMS_ATTESTORS,
    TERMS_BOND,
    TERMS_EXPIRED,
    TERMS_FLOORS,
    TERMS_KIND,
    TERMS_LIVENESS,
    TERMS_MODE,
    TERMS_PARTY,
    TERMS_PUBLISH,
    TERMS_RANDAO,
    TERMS_SAMPLES,
    TERMS_SEGMENTS,
    TERMS_SELECTORS,
    TERMS_SHARE,
    TERMS_UNIT,
    TERMS_WINDOW
} from "./Errors.sol";

// 2^24 seconds, about 194 days.
uint32 constant WINDOW_MAX = 2 ** 24 - 1;

/// What `open` refuses, and which verifiers a job still has: contracts/SPEC.md §5, §6. It holds no state.
contract TermsRules is ITermsRules {
    IVerifierRouter public immutable router;
    IBlockRandao public immutable randao;
    uint32 public immutable windowFloor;
    uint32 public immutable finalityFloor;
    uint32 public immutable drawBlocksFloor;

    constructor(IVerifierRouter router_, IBlockRandao randao_, Floors memory floors) {
        if (floors.window == 0 || floors.window > WINDOW_MAX) revert TERMS_FLOORS(floors.window);
        router = router_;
        randao = randao_;
        (windowFloor, finalityFloor, drawBlocksFloor) = (floors.window, floors.finality, floors.drawBlocks);
    }

    function check(Terms calldata terms) external view {
        uint16 mode = terms.mode;
        if (terms.segments == 0 || terms.segments > SEGMENTS_MAX) revert TERMS_SEGMENTS(terms.segments);
        _checkMode(terms, mode);
        _checkMoney(terms, mode);
        if (terms.unit != 0 || terms.unitSegments != 1 || terms.parts != 1 || terms.providers != 0) revert TERMS_UNIT();
        bool sampled = mode & MODE_SAMPLE != 0;
        if (sampled == (terms.samples == 0) || terms.samples > uint256(terms.segments) * 8) {
            revert TERMS_SAMPLES(terms.samples);
        }
        if (sampled && !randao.isTested()) revert TERMS_RANDAO();
        if (block.timestamp > terms.acceptBy) revert TERMS_EXPIRED(terms.acceptBy);
        _checkWindows(terms, mode);
        _checkSelectors(terms, mode);
        _checkAttestors(terms);
        if (terms.keyBroker == address(0)) revert TERMS_PARTY(terms.keyBroker);
        if (terms.provider != address(0)) checkProvider(terms, terms.provider);
    }

    /// @inheritdoc ITermsRules
    function checkProvider(Terms calldata terms, address provider) public pure {
        bool taken = provider == terms.client || provider == terms.keyBroker;
        for (uint256 i = 0; i < terms.attestors.length; ++i) taken = taken || terms.attestors[i] == provider;
        if (taken) revert TERMS_PARTY(provider);
    }

    /// @inheritdoc ITermsRules
    function requireSignature(address signer, bytes32 structHash, bytes calldata signature) external view {
        bytes32 digest = Statements.digest(msg.sender, structHash);
        if (!SignatureChecker.isValidSignatureNowCalldata(signer, digest, signature)) revert SIGNATURE(signer);
    }

    /// @inheritdoc ITermsRules
    function canCommit(Terms calldata terms) external view returns (bool) {
        uint16 mode = terms.mode;
        bool proof = isProvable(terms);
        if (mode & (MODE_FULL | MODE_SAMPLE) != 0 && !proof) return false;
        bool seal = mode & MODE_TEE != 0 && router.isLive(terms.teeSelector);
        return seal || (proof && mode & MODE_REVEAL == 0);
    }

    /// @inheritdoc ITermsRules
    function isProvable(Terms calldata terms) public view returns (bool) {
        for (uint256 i = 0; i < terms.dutySelectors.length; ++i) {
            if (router.isLive(terms.dutySelectors[i])) return true;
        }
        return false;
    }

    function _checkMode(Terms calldata terms, uint16 mode) private pure {
        bool tee = mode & MODE_TEE != 0;
        bool reveal = mode & MODE_REVEAL != 0;
        bool proofs = terms.dutySelectors.length != 0;
        if (
            mode & ~MODE_MASK != 0 || mode & (MODE_TEE | MODE_FULL | MODE_SAMPLE | MODE_OPTIMISTIC) == 0
                || (reveal && !tee)
                // A rule-based stop has no proof yet.
                || (mode & MODE_EARLY != 0 && (!tee || proofs))
                // A sample of what is proved throughout says nothing.
                || (mode & MODE_FULL != 0 && mode & MODE_SAMPLE != 0)
                // The client has the result: whoever takes the seal away must leave another way to be paid.
                || (tee && !reveal && !proofs)
        ) revert TERMS_MODE(mode);
    }

    function _checkMoney(Terms calldata terms, uint16 mode) private pure {
        bool reveal = mode & MODE_REVEAL != 0;
        if (terms.liveness > terms.stake || (reveal && terms.liveness == 0)) {
            revert TERMS_LIVENESS(terms.liveness, terms.stake);
        }
        if (terms.bondFee == 0 || terms.bondFee > terms.bond) revert TERMS_BOND(terms.bond, terms.bondFee);
        if (reveal && terms.publishFee == 0) revert TERMS_PUBLISH(terms.publishFee);
        if (terms.failShareBps > BPS) revert TERMS_SHARE(terms.failShareBps);
        // Nothing is paid by prefix while an unsound verifier may yet be stopped, or before the key is shown.
        bool whole = reveal || terms.windows.hold != 0;
        if (terms.holdbackBps > BPS || (whole && terms.holdbackBps != BPS)) revert TERMS_SHARE(terms.holdbackBps);
    }

    function _checkWindows(Terms calldata terms, uint16 mode) private view {
        Windows calldata w = terms.windows;
        uint32 least = windowFloor;
        bool proofs = terms.dutySelectors.length != 0;
        bool sampled = mode & MODE_SAMPLE != 0;
        // Every job can lose its seal or be committed without one, so every mode has a window of challenge.
        if (w.start < least || w.compute < least || w.challenge < least) revert TERMS_WINDOW();
        if (proofs && (w.prove < least || w.provePer == 0)) revert TERMS_WINDOW();
        if (sampled && (w.draw < least || w.finality < finalityFloor || w.drawBlocks < drawBlocksFloor)) {
            revert TERMS_WINDOW();
        }
        if (mode & MODE_REVEAL != 0 && (w.reveal < least || w.ack < least)) revert TERMS_WINDOW();
        // Sums of as many windows as a job has duties stay far below the 40 bits of a time.
        uint32 longest = w.start | w.compute | w.finality | w.draw | w.challenge | w.prove | w.provePer | w.hold
            | w.reveal | w.ack | w.drawBlocks;
        if (longest > WINDOW_MAX) revert TERMS_WINDOW();
    }

    function _checkSelectors(Terms calldata terms, uint16 mode) private view {
        uint256 count = terms.dutySelectors.length;
        bool duties = mode & (MODE_FULL | MODE_SAMPLE | MODE_OPTIMISTIC) != 0;
        if (count > DUTY_SELECTORS_MAX || (duties && count == 0)) revert TERMS_SELECTORS();
        _checkKind(terms.teeSelector, true);
        for (uint256 i = 0; i < count; ++i) _checkKind(terms.dutySelectors[i], false);
    }

    /// A live Keys judges who may seal and never a segment; every other verifier the reverse.
    function _checkKind(bytes4 selector, bool keys) private view {
        (bool ok, bytes memory answer) =
            address(router.verifierOf(selector)).staticcall(abi.encodeCall(IKeys.isKeys, ()));
        bool isKeys = ok && answer.length == 32 && uint256(bytes32(answer)) == 1;
        if (isKeys != keys) revert TERMS_KIND(selector);
    }

    function _checkAttestors(Terms calldata terms) private pure {
        uint256 count = terms.attestors.length;
        if (count > ATTESTORS_MAX || terms.needed > count) revert TERMS_ATTESTORS(count, terms.needed);
        address last;
        for (uint256 i = 0; i < count; ++i) {
            address a = terms.attestors[i];
            if (a <= last || a == terms.keyBroker) revert TERMS_PARTY(a);
            last = a;
        }
    }
}
