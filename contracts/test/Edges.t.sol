// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// The last second at which a call may come and the first at which it may not, and the exact amounts: what mutations of
/// the contracts showed that no other test looks at.
contract EdgesTest is Fixture {
    uint256 private constant NONE = type(uint256).max;

    function test_acceptance_ends_with_its_second() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        fails(JOB_EXISTS.selector);
        vm.prank(client);
        settlement.open(t);
        later(100);
        fails(CALLER.selector);
        settlement.cancel(t);
        uint256 atThatTime = vm.getBlockTimestamp();
        later(1);
        vm.prank(provider);
        settlement.depositStake(t.token, t.stake);
        fails(TOO_LATE.selector);
        vm.prank(provider);
        settlement.accept(t, 0, "");
        vm.warp(atThatTime);
        vm.prank(challenger);
        settlement.depositStake(t.token, t.stake);
        fails(CALLER.selector);
        vm.prank(challenger);
        settlement.accept(t, 0, "");
        vm.prank(provider);
        settlement.accept(t, 0, "");
        Terms memory other = baseTerms(MODE_OPTIMISTIC);
        open(other);
        fails(STAKE_SHORT.selector);
        vm.prank(provider);
        settlement.accept(other, 0, "");
        later(101);
        settlement.cancel(other);
        isState(other, State.Aborted);
    }

    function test_start_and_commit_end_with_their_second() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        accept(t);
        later(60);
        fails(TOO_EARLY.selector);
        settlement.abort(t);
        start(t);
        later(600);
        fails(TOO_EARLY.selector);
        settlement.abandon(t);
        Run memory r = unsealed(t, borders(t, 4, NONE), 0);
        later(1);
        fails(TOO_LATE.selector);
        vm.prank(provider);
        settlement.commit(t, r);
        settlement.abandon(t);
        equal(credit(client, t), t.price + t.liveness);
        (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
        equal(free, t.stake - t.liveness);
        equal(locked, 0);
        vm.prank(provider);
        settlement.releaseStake(t.token, free);
        fails(STAKE_SHORT.selector);
        vm.prank(provider);
        settlement.releaseStake(t.token, 1);
    }

    function test_the_challenge_window_runs_from_the_commit() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        later(500);
        commit(t, unsealed(t, borders(t, 4, 1), 0));
        fails(SEGMENT_INDEX.selector);
        vm.prank(challenger);
        settlement.challenge(t, 4);
        later(200);
        challenge(t, 1);
        later(1);
        fails(TOO_LATE.selector);
        vm.prank(challenger);
        settlement.challenge(t, 2);
    }

    function test_only_jobs_that_say_so_are_challenged() public {
        Terms memory t = baseTerms(MODE_FULL);
        t.windows.challenge = 100;
        committed(t, NONE);
        fails(CHALLENGE_CLOSED.selector);
        vm.prank(challenger);
        settlement.challenge(t, 1);
        Terms memory sampled = baseTerms(MODE_SAMPLE);
        committed(sampled, NONE);
        fails(CHALLENGE_CLOSED.selector);
        vm.prank(challenger);
        settlement.challenge(sampled, 1);
        fails(CHALLENGE_CLOSED.selector);
        settlement.unseal(sampled, enclave);
    }

    function test_proofs_come_early_and_until_the_deadline() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, NONE);
        discharge(t, b, 3);
        challenge(t, 0);
        later(40);
        discharge(t, b, 0);
        equal(dutyOf(t).open, 0);
        equal(dutyOf(t).proved, 2);
    }

    function test_both_borders_of_a_proof_are_committed() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, NONE);
        bytes memory seal = stepSeal(t, 1, b[1], b[2]);
        Transition memory x = transition(b, 1);
        x.pathBefore[0] = "elsewhere";
        fails(SEGMENT_PATH.selector);
        settlement.discharge(t, 1, x, seal);
        x = transition(b, 1);
        x.pathAfter[0] = "elsewhere";
        fails(SEGMENT_PATH.selector);
        settlement.discharge(t, 1, x, seal);
    }

    function test_a_refunded_bond_leaves_no_open_duty() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        committed(t, 2);
        challenge(t, 0);
        challenge(t, 2);
        later(51);
        settlement.lapse(t, 2, 0);
        equal(dutyOf(t).open, 1);
        settlement.refundBond(t, 0);
        equal(dutyOf(t).open, 0);
    }

    function test_a_place_beyond_the_sample_is_not_drawn() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.samples = 1;
        committed(t, NONE);
        for (uint256 i = 0; i < 4; ++i) {
            fails(DUTY_NONE.selector);
            settlement.lapse(t, i, 0);
        }
        settlement.draw(t, SEED_CLIENT);
        uint256 drawn = sampleOf(t, 0);
        uint256 a = 1;
        while (sampleOf(t, a) == drawn) ++a;
        uint256 other = sampleOf(t, a);
        later(100);
        fails(DUTY_NONE.selector);
        settlement.lapse(t, other, a);
        fails(DUTY_NONE.selector);
        settlement.lapse(t, other, 0);
        fails(SEGMENT_INDEX.selector);
        settlement.lapse(t, 4, 0);
        settlement.lapse(t, drawn, 0);
    }

    function test_the_draw_ends_with_its_second() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        committed(t, NONE);
        vm.roll(2000);
        later(50);
        fails(TOO_EARLY.selector);
        settlement.drawFallback(t, "");
        settlement.draw(t, SEED_CLIENT);
        fails(DRAW_NONE.selector);
        settlement.drawFallback(t, "");
        Terms memory none = baseTerms(MODE_OPTIMISTIC);
        committed(none, NONE);
        fails(DRAW_NONE.selector);
        settlement.draw(none, SEED_CLIENT);
    }

    function test_a_seal_is_taken_away_until_the_window_ends() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        revoke(t);
        later(201);
        fails(TOO_LATE.selector);
        settlement.unseal(t, enclave);
        vm.warp(vm.getBlockTimestamp() - 1);
        settlement.unseal(t, enclave);
        Terms memory unsealed_ = baseTerms(MODE_OPTIMISTIC);
        committed(unsealed_, NONE);
        fails(CHALLENGE_CLOSED.selector);
        settlement.unseal(unsealed_, enclave);
    }

    function test_runs_have_the_length_and_outcome_of_their_terms() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        bytes32[] memory five = borders(t, 5, NONE);
        _refused(t, unsealed(t, five, 0), RUN_LENGTH.selector);
        _refused(t, unsealed(t, new bytes32[](0), 0), RUN_LENGTH.selector);
        _refused(t, unsealed(t, borders(t, 3, NONE), 0), RUN_OUTCOME.selector);
        _refused(t, unsealed(t, borders(t, 4, NONE), OUTCOME_RANGE), RUN_OUTCOME.selector);
        vm.prank(client);
        settlement.stop(t);
        _refused(t, unsealed(t, borders(t, 3, NONE), 3), RUN_OUTCOME.selector);
        Run memory sealed_ = unsealed(t, borders(t, 4, NONE), 0);
        sealed_.seal = hex"01020304";
        _refused(t, sealed_, SEAL_MODE.selector);
        commit(t, unsealed(t, borders(t, 0, NONE), OUTCOME_STOPPED));
        later(201);
        settlement.finalize(t, 0, 0);
        equal(credit(provider, t), 0);
        equal(credit(client, t), t.price);
        Terms memory full = baseTerms(MODE_FULL);
        started(full);
        _refused(full, unsealed(full, borders(full, 4, NONE), OUTCOME_RANGE), RUN_OUTCOME.selector);
        fails(CALLER.selector);
        vm.prank(client);
        settlement.commit(full, sealed_);
    }

    function _refused(Terms memory t, Run memory r, bytes4 code) private {
        fails(code);
        vm.prank(provider);
        settlement.commit(t, r);
    }

    /// Terms in another encoding are the same job or none.
    function test_terms_have_one_encoding() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes memory call = abi.encodeCall(settlement.open, (t));
        // needed, the eleventh word: a bit above its eight.
        call[4 + 32 + 10 * 32] = 0x01;
        vm.prank(client);
        (bool ok,) = address(settlement).call(call);
        require(!ok, "dirty terms were opened");
        call[4 + 32 + 10 * 32] = 0;
        bytes memory longer = abi.encodePacked(call, bytes32(0));
        vm.prank(client);
        (ok,) = address(settlement).call(longer);
        require(ok, "not opened");
        isState(t, State.Open);
    }

    /// A run that says that it cannot go on waits to be refuted, however much of it is proved.
    function test_a_stop_by_range_waits_for_its_window() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        bytes32[] memory b = borders(t, 2, NONE);
        commit(t, unsealed(t, b, OUTCOME_RANGE));
        discharge(t, b, 0);
        discharge(t, b, 1);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, 0, 0);
        bytes32 next = steps.next(b[2]);
        bytes memory seal = stepSeal(t, 2, b[2], next);
        bytes32[] memory path = pathOf(b, 1);
        fails(SEGMENT_PATH.selector);
        settlement.refute(t, b[2], path, next, seal);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Stopped);
        equal(credit(provider, t), uint256(t.price) / 4);
        Terms memory complete = baseTerms(MODE_OPTIMISTIC);
        b = committed(complete, NONE);
        path = pathOf(b, 4);
        seal = stepSeal(complete, 4, b[4], next);
        fails(RUN_OUTCOME.selector);
        settlement.refute(complete, b[4], path, next, seal);
    }

    function test_vouchers_reach_the_price_and_no_further() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        accept(t);
        bytes memory all = sign(CLIENT_KEY, digest(Statements.voucher(idOf(t), t.price)));
        fails(JOB_STATE.selector);
        vm.prank(provider);
        settlement.voucher(t, t.price, all);
        start(t);
        fails(CALLER.selector);
        vm.prank(challenger);
        settlement.voucher(t, t.price, all);
        bytes memory more = sign(CLIENT_KEY, digest(Statements.voucher(idOf(t), t.price + 1)));
        fails(AMOUNT.selector);
        vm.prank(provider);
        settlement.voucher(t, t.price + 1, more);
        vm.prank(provider);
        settlement.voucher(t, t.price, all);
        later(601);
        settlement.abandon(t);
        equal(credit(provider, t), t.price);
        equal(credit(client, t), t.liveness);
        fails(JOB_ENDED.selector);
        vm.prank(provider);
        settlement.voucher(t, t.price, all);
    }

    function test_prefixes_are_for_whole_runs_that_are_proved_throughout() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, NONE);
        discharge(t, b, 0);
        fails(TERMS_MODE.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 1);
        Terms memory full = baseTerms(MODE_FULL);
        b = committed(full, NONE);
        discharge(full, b, 0);
        fails(CALLER.selector);
        settlement.claimPrefix(full, 1);
        later(1);
        vm.prank(provider);
        settlement.claimPrefix(full, 1);
        Terms memory stopped = baseTerms(MODE_FULL);
        started(stopped);
        vm.prank(client);
        settlement.stop(stopped);
        b = borders(stopped, 2, NONE);
        commit(stopped, unsealed(stopped, b, OUTCOME_STOPPED));
        discharge(stopped, b, 0);
        fails(TERMS_MODE.selector);
        vm.prank(provider);
        settlement.claimPrefix(stopped, 1);
    }

    function test_prefixes_of_more_than_one_word_of_segments() public {
        Terms memory t = baseTerms(MODE_FULL);
        (t.segments, t.holdbackBps, t.price) = (260, 0, 260 ether);
        bytes32[] memory b = committed(t, NONE);
        for (uint256 i = 0; i < 258; ++i) if (i != 256) this.prove(t, b, i);
        fails(DUTY_OPEN.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 257);
        later(1);
        vm.prank(provider);
        settlement.claimPrefix(t, 256);
        equal(credit(provider, t), 256 ether);
        discharge(t, b, 256);
        later(1);
        vm.prank(provider);
        settlement.claimPrefix(t, 258);
        equal(credit(provider, t), 258 ether);
    }

    /// External, so that each proof starts with fresh memory.
    function prove(Terms memory t, bytes32[] memory b, uint256 i) external {
        discharge(t, b, i);
    }

    function test_a_result_is_not_called_undelivered_while_duties_are_open() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_OPTIMISTIC);
        committed(t, NONE);
        challenge(t, 0);
        later(1000);
        fails(DUTY_OPEN.selector);
        settlement.undelivered(t);
    }

    function test_a_run_that_cannot_go_on_need_not_deliver() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        started(t);
        Run memory r = unsealed(t, borders(t, 2, NONE), OUTCOME_RANGE);
        r.keys = only(enclave);
        r.seal = runSeal(t, r);
        commit(t, r);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Stopped);
    }

    function test_a_seal_has_one_length() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
        r.seal = abi.encodePacked(r.seal, bytes1(0));
        _refused(t, r, SEAL_LENGTH.selector);
    }

}
