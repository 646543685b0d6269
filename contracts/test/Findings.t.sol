// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Duty, DUTY_ALL} from "../src/Duties.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// Attacks on price and stake that once ran, each played again in every mode that it concerns.
contract FindingsTest is Fixture {
    uint256 private constant NONE = type(uint256).max;

    uint16[4] private _revealing = [
        MODE_TEE | MODE_REVEAL,
        MODE_TEE | MODE_FULL | MODE_REVEAL,
        MODE_TEE | MODE_SAMPLE | MODE_REVEAL,
        MODE_TEE | MODE_OPTIMISTIC | MODE_REVEAL
    ];
    uint16[6] private _unsealable = [
        MODE_FULL, MODE_SAMPLE, MODE_OPTIMISTIC, MODE_TEE, MODE_TEE | MODE_FULL, MODE_TEE | MODE_SAMPLE
    ];

    /// price 90, stake 45: all segments proved, claimPrefix, never a key; nothing may be credited before it is shown.
    function test_S_H1_no_mode_with_a_result_to_reveal_pays_by_prefix() public {
        for (uint256 m = 0; m < _revealing.length; ++m) {
            Terms memory t = baseTerms(_revealing[m]);
            t.stake = 45 ether;
            bytes32[] memory b = committed(t, NONE);
            uint256 before = credit(provider, t);
            if (t.dutySelectors.length != 0) for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
            _prefixRefused(t);
            if (t.mode & MODE_SAMPLE != 0) {
                later(201);
                settlement.draw(t, SEED_CLIENT);
            }
            later(201);
            _prefixRefused(t);
            later(101);
            uint256 back = credit(client, t);
            settlement.undelivered(t);
            isState(t, State.Undelivered);
            equal(credit(provider, t), before);
            equal(credit(client, t) - back, t.price + t.liveness);
        }
    }

    function test_S_H1_terms_with_a_result_to_reveal_hold_back_all() public {
        for (uint256 m = 0; m < _revealing.length; ++m) {
            Terms memory t = baseTerms(_revealing[m]);
            t.holdbackBps = 9_999;
            fails(TERMS_SHARE.selector);
            rules.check(t);
        }
    }

    function _prefixRefused(Terms memory t) private {
        fails(TERMS_MODE.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 4);
    }

    function test_S_M2_hold_delays_every_payment() public {
        Terms memory t = baseTerms(MODE_FULL);
        t.windows.hold = 1000;
        fails(TERMS_SHARE.selector);
        rules.check(t);
        t.holdbackBps = 10_000;
        bytes32[] memory b = committed(t, NONE);
        for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
        fails(TOO_EARLY.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 4);
        later(1000);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, 0, 0);
        vm.prank(guardian);
        router.tombstone(STEP);
        settlement.void(t);
        equal(credit(provider, t), 0);
        equal(credit(client, t), t.price);
    }

    /// A proof brought before anybody challenges keeps challengers out: the guardian has as long to stop its verifier.
    function test_S_M2_a_proof_that_forestalls_a_challenge_waits_for_hold() public {
        uint16[4] memory modes =
            [MODE_OPTIMISTIC, MODE_TEE, MODE_TEE | MODE_OPTIMISTIC, MODE_TEE | MODE_OPTIMISTIC | MODE_REVEAL];
        for (uint256 m = 0; m < modes.length; ++m) {
            bool reveal = modes[m] & MODE_REVEAL != 0;
            (bytes32 c, bytes32 k) = reveal ? (CIPHERTEXT, REVEAL_KEY) : (bytes32(0), bytes32(0));
            Terms memory t = _held(modes[m]);
            bytes32[] memory b = committed(t, NONE);
            later(200);
            discharge(t, b, 1);
            fails(SEGMENT_PROVED.selector);
            vm.prank(challenger);
            settlement.challenge(t, 1);
            later(1000);
            fails(TOO_EARLY.selector);
            settlement.finalize(t, c, k);
            uint256 live = vm.snapshotState();
            vm.prank(guardian);
            router.tombstone(STEP);
            uint256 back = credit(client, t);
            settlement.void(t);
            equal(credit(client, t) - back, t.price);
            vm.revertToStateAndDelete(live);
            later(1);
            settlement.finalize(t, c, k);
            isState(t, State.Settled);
        }
    }

    /// When challenges are over such a proof forestalls nothing, and delays nothing.
    function test_S_M2_a_proof_after_the_window_of_challenge_delays_nothing() public {
        uint16[2] memory modes = [MODE_OPTIMISTIC, MODE_TEE];
        for (uint256 m = 0; m < modes.length; ++m) {
            Terms memory t = _held(modes[m]);
            bytes32[] memory b = committed(t, NONE);
            later(201);
            discharge(t, b, 1);
            settlement.finalize(t, 0, 0);
            isState(t, State.Settled);
        }
    }

    function _held(uint16 mode) private returns (Terms memory t) {
        t = baseTerms(mode);
        (t.windows.hold, t.holdbackBps) = (1000, 10_000);
    }

    /// Nobody draws and the chain's BLOCKHASH is no header's hash: a week later all goes back.
    function test_S_M9_a_sample_that_nobody_can_draw_ends() public {
        uint16[2] memory modes = [MODE_SAMPLE, MODE_TEE | MODE_SAMPLE];
        for (uint256 m = 0; m < modes.length; ++m) {
            Terms memory t = baseTerms(modes[m]);
            committed(t, NONE);
            Duty memory d = dutyOf(t);
            vm.warp(uint256(d.drawUntil) + 7 days);
            fails(VERIFIER_LIVE.selector);
            settlement.void(t);
            later(1);
            (uint256 p, uint256 c) = (credit(provider, t), credit(client, t));
            settlement.void(t);
            isState(t, State.Voided);
            equal(credit(client, t) - c, t.price);
            equal(credit(provider, t), p);
        }
    }

    function test_S_M9_no_sample_where_no_header_was_read() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        rules.check(t);
        address fresh = deploy("BlockRandao", "");
        (, bytes memory answer) = deploy("TermsRules", abi.encode(router, fresh, uint32(1), uint32(0), uint32(1)))
            .staticcall(abi.encodeCall(rules.check, (t)));
        require(bytes4(answer) == TERMS_RANDAO.selector, "sampled without a test");
    }

    function test_S_M9_the_test_of_the_chain_reads_a_header_of_that_number() public {
        uint256 number = vm.getBlockNumber() - 2;
        bytes memory other = headerOf(number + 1, "mix");
        vm.setBlockhash(number, keccak256(other));
        fails(DRAW_NUMBER.selector);
        randao.test(number, other);
        fails(DRAW_HEADER.selector);
        randao.test(number - 1, other);
    }

    /// Before the commit is final no secret of the client may decide the sample.
    function test_S_M10_a_sample_is_drawn_after_finality() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.windows.finality = 500;
        committed(t, NONE);
        later(499);
        fails(TOO_EARLY.selector);
        settlement.draw(t, SEED_CLIENT);
        later(1);
        settlement.draw(t, SEED_CLIENT);
        t = baseTerms(MODE_TEE | MODE_SAMPLE);
        t.windows.finality = 500;
        committed(t, NONE);
        later(700);
        fails(TOO_EARLY.selector);
        settlement.draw(t, SEED_CLIENT);
        later(1);
        settlement.draw(t, SEED_CLIENT);
    }

    function test_S_M10_the_chain_has_floors_for_finality_and_the_fallback_block() public {
        address strict = deploy("TermsRules", abi.encode(router, randao, uint32(10), uint32(3600), uint32(2700)));
        Terms memory t = baseTerms(MODE_SAMPLE);
        (t.windows.finality, t.windows.drawBlocks) = (3600, 2700);
        _checkedBy(strict, t, 0);
        t.windows.finality = 3599;
        _checkedBy(strict, t, TERMS_WINDOW.selector);
        (t.windows.finality, t.windows.drawBlocks) = (3600, 2699);
        _checkedBy(strict, t, TERMS_WINDOW.selector);
    }

    function _checkedBy(address who, Terms memory t, bytes4 code) private view {
        (bool ok, bytes memory answer) = who.staticcall(abi.encodeCall(rules.check, (t)));
        require(ok == (code == 0) && (ok || bytes4(answer) == code), "terms");
    }

    function test_S_M11_an_honest_run_that_leaves_its_range_is_committed_in_every_mode() public {
        for (uint256 m = 0; m < _unsealable.length; ++m) {
            Terms memory t = baseTerms(_unsealable[m]);
            t.windows.challenge = 0;
            fails(TERMS_WINDOW.selector);
            rules.check(t);
            t.windows.challenge = 200;
            started(t);
            bytes32[] memory b = borders(t, 2, NONE);
            commit(t, unsealed(t, b, OUTCOME_RANGE));
            _proveAll(t, b);
            later(201);
            uint256 before = credit(provider, t);
            settlement.finalize(t, 0, 0);
            isState(t, State.Stopped);
            equal(credit(provider, t) - before, uint256(t.price) / 4);
        }
    }

    function _proveAll(Terms memory t, bytes32[] memory b) private {
        if (t.mode & MODE_SAMPLE != 0 && dutyOf(t).flags & DUTY_ALL == 0) settlement.draw(t, SEED_CLIENT);
        for (uint256 i = 0; i + 1 < b.length; ++i) discharge(t, b, i);
    }

    /// A true run, junk as ciphertext, the key revoked: no proof makes the junk worth the price.
    function test_S_M12_a_delivery_whose_seal_is_gone_pays_nothing() public {
        for (uint256 m = 0; m < _revealing.length; ++m) {
            Terms memory t = baseTerms(_revealing[m]);
            bytes32[] memory b = committed(t, NONE);
            if (t.dutySelectors.length != 0) for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
            revoke(t);
            settlement.unseal(t, enclave);
            (uint256 p, uint256 c) = (credit(provider, t), credit(client, t));
            fails(DELIVERY_MODE.selector);
            settlement.undelivered(t);
            settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
            isState(t, State.Unsealed);
            equal(credit(provider, t), p);
            equal(credit(client, t) - c, t.price);
        }
    }

    function test_S_M13_a_complaint_leaves_time_to_answer() public {
        for (uint256 m = 0; m < _revealing.length; ++m) {
            Terms memory t = baseTerms(_revealing[m]);
            t.windows.ack = 0;
            fails(TERMS_WINDOW.selector);
            rules.check(t);
            (t.windows.ack, t.windows.reveal) = (50, 0);
            fails(TERMS_WINDOW.selector);
            rules.check(t);
        }
    }

    /// A job whose windows are over is paid, whatever the guardian does.
    function test_S_M14_a_finished_job_is_nobodys_to_end() public {
        uint16[4] memory modes = [MODE_TEE, MODE_TEE | MODE_REVEAL, MODE_OPTIMISTIC, MODE_FULL];
        Terms[] memory jobs = new Terms[](modes.length);
        for (uint256 m = 0; m < modes.length; ++m) {
            jobs[m] = baseTerms(modes[m]);
            bytes32[] memory b = committed(jobs[m], NONE);
            if (modes[m] & MODE_FULL != 0) for (uint256 i = 0; i < 4; ++i) discharge(jobs[m], b, i);
        }
        later(201);
        vm.startPrank(guardian);
        router.tombstone(keys.SELECTOR());
        router.tombstone(STEP);
        router.tombstone(STEP2);
        roles.setPaused(true);
        vm.stopPrank();
        for (uint256 m = 0; m < modes.length; ++m) {
            fails(VERIFIER_LIVE.selector);
            settlement.void(jobs[m]);
            if (modes[m] & MODE_TEE != 0) {
                fails(TOO_LATE.selector);
                settlement.unseal(jobs[m], enclave);
            }
            bool reveal = modes[m] & MODE_REVEAL != 0;
            settlement.finalize(jobs[m], reveal ? CIPHERTEXT : bytes32(0), reveal ? REVEAL_KEY : bytes32(0));
            isState(jobs[m], State.Settled);
        }
    }

    /// Whoever copies a proof gains nothing by it, the provider least.
    function test_S_L1_a_refutation_pays_no_sender() public {
        address[3] memory senders = [challenger, provider, client];
        for (uint256 i = 0; i < senders.length; ++i) {
            Terms memory t = baseTerms(MODE_OPTIMISTIC);
            started(t);
            bytes32[] memory b = borders(t, 2, NONE);
            commit(t, unsealed(t, b, OUTCOME_RANGE));
            bytes memory seal = stepSeal(t, 2, b[2], steps.next(b[2]));
            (uint256 c, uint256 w, uint256 p) = (credit(client, t), credit(challenger, t), credit(provider, t));
            bytes32[] memory path = pathOf(b, 2);
            bytes32 possible = steps.next(b[2]);
            vm.prank(senders[i]);
            settlement.refute(t, b[2], path, possible, seal);
            equal(credit(challenger, t), w);
            equal(credit(provider, t), p);
            equal(credit(client, t) - c, t.price + t.stake / 2);
        }
    }

    function test_Z_H1_a_sealed_range_is_not_refuted_and_ends_without_its_seal() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        bytes32[] memory b = borders(t, 2, NONE);
        commit(t, sealedRun(t, b, OUTCOME_RANGE));
        bytes memory seal = stepSeal(t, 2, b[2], steps.next(b[2]));
        bytes32[] memory path = pathOf(b, 2);
        bytes32 possible = steps.next(b[2]);
        fails(CHALLENGE_CLOSED.selector);
        settlement.refute(t, b[2], path, possible, seal);
        revoke(t);
        settlement.unseal(t, enclave);
        fails(CHALLENGE_CLOSED.selector);
        settlement.refute(t, b[2], path, possible, seal);
        settlement.finalize(t, 0, 0);
        isState(t, State.Unsealed);
    }

    function test_S_L2_taking_the_seal_away_renews_no_deadline() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_FULL);
        committed(t, 1);
        uint256 deadline = dutyOf(t).setDeadline;
        equal(deadline, NOW + 200 + 1 + 30 + 4 * 10);
        later(150);
        revoke(t);
        settlement.unseal(t, enclave);
        equal(dutyOf(t).setDeadline, deadline);
        fails(CHALLENGE_CLOSED.selector);
        settlement.unseal(t, enclave);
        vm.warp(deadline + 1);
        settlement.lapse(t, 1, 0);
        isState(t, State.Slashed); // FULL was undertaken, seal or not
    }

    function test_S_L3_proofs_that_nobody_owes_delay_nothing() public {
        uint16[3] memory modes = [MODE_OPTIMISTIC, MODE_TEE, MODE_SAMPLE];
        for (uint256 m = 0; m < modes.length; ++m) {
            Terms memory t = baseTerms(modes[m]);
            (t.windows.hold, t.holdbackBps) = (1000, 10_000);
            (t.segments, t.samples) = (8, modes[m] == MODE_SAMPLE ? 1 : 0);
            t.windows.provePer = 2000;
            bytes32[] memory b = committed(t, NONE);
            if (modes[m] == MODE_SAMPLE) settlement.draw(t, SEED_CLIENT);
            uint256 owed = modes[m] == MODE_SAMPLE ? sampleOf(t, 0) : 0;
            if (modes[m] != MODE_SAMPLE) challenge(t, owed);
            discharge(t, b, owed);
            later(999);
            if (modes[m] != MODE_SAMPLE) for (uint256 i = 1; i < 8; ++i) discharge(t, b, i);
            else discharge(t, b, (owed + 1) % 8);
            fails(TOO_EARLY.selector);
            settlement.finalize(t, 0, 0);
            later(2);
            settlement.finalize(t, 0, 0);
            isState(t, State.Settled);
        }
    }

    /// The second in which a complaint is still heard is not yet one in which the key is shown.
    function test_S_L4_complaint_and_payment_share_no_second() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows.ack = 300;
        committed(t, NONE);
        later(300);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        later(1);
        fails(TOO_LATE.selector);
        vm.prank(client);
        settlement.missing(t);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
    }
}
