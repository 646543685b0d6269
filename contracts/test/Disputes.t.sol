// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {DUTY_ALL, DUTY_BY_UNSEAL} from "../src/Duties.sol";
import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {TestStepVerifier} from "./TestStepVerifier.sol";
import {vm} from "./Vm.sol";

/// Duties in every mode: contracts/SPEC.md §7, §8, §9, §14.
contract DisputesTest is Fixture {
    uint256 private constant NONE = type(uint256).max;

    function test_optimistic_true_run_is_paid_after_the_window() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        committed(t, NONE);
        later(200);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, 0, 0);
        later(1);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
        equal(credit(provider, t), t.price);
    }

    function test_challenge_of_a_false_segment_slashes() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, 2);
        challenge(t, 2);
        fails(DUTY_OPEN.selector);
        settlement.finalize(t, 0, 0);
        bytes memory lie = stepSeal(t, 2, b[2], b[3]);
        fails(TestStepVerifier.TEST_TRANSITION.selector);
        settlement.discharge(t, 2, transition(b, 2), lie);
        later(40);
        fails(TOO_EARLY.selector);
        settlement.lapse(t, 2, 0);
        later(1);
        settlement.lapse(t, 2, 0);
        isState(t, State.Slashed);
        equal(credit(challenger, t), t.bond + t.stake / 3);
        equal(credit(client, t), t.price + t.stake / 3);
        equal(credit(treasury, t), t.stake - 2 * (t.stake / 3));
        (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
        equal(free, 0);
        equal(locked, 0);
    }

    function test_defence_earns_the_bond_and_leaves_the_rest_open() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, 3);
        challenge(t, 1);
        discharge(t, b, 1);
        equal(credit(provider, t), t.bond - t.bondFee);
        equal(credit(treasury, t), t.bondFee);
        fails(SEGMENT_PROVED.selector);
        vm.prank(challenger);
        settlement.challenge(t, 1);
        challenge(t, 3);
        fails(DUTY_EXISTS.selector);
        vm.prank(client);
        settlement.challenge(t, 3);
        later(51);
        settlement.lapse(t, 3, 0);
        isState(t, State.Slashed);
    }

    function test_losing_challengers_get_their_bonds_back_once() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        committed(t, 2);
        challenge(t, 0);
        vm.prank(client);
        settlement.challenge(t, 2);
        fails(JOB_STATE.selector);
        settlement.refundBond(t, 0);
        later(51);
        settlement.lapse(t, 2, 0);
        equal(credit(challenger, t), 0);
        settlement.refundBond(t, 0);
        equal(credit(challenger, t), t.bond);
        fails(DUTY_NONE.selector);
        settlement.refundBond(t, 0);
        fails(DUTY_NONE.selector);
        settlement.refundBond(t, 2);
    }

    function test_deadlines_grow_by_provePer_for_each_duty() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        committed(t, NONE);
        uint256 from = vm.getBlockTimestamp();
        challenge(t, 0);
        challenge(t, 1);
        later(5);
        challenge(t, 2);
        equal(challengeOf(t, 0).deadline, from + 40);
        equal(challengeOf(t, 1).deadline, from + 50);
        equal(challengeOf(t, 2).deadline, from + 60);
    }

    function test_discharge_binds_job_index_and_committed_borders() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, 2);
        challenge(t, 2);
        bytes32 after_ = steps.next(b[2]);
        bytes memory seal = stepSeal(t, 2, b[2], after_);
        Transition memory x = transition(b, 2);
        x.afterwards = after_;
        fails(SEGMENT_PATH.selector);
        settlement.discharge(t, 2, x, seal);
        x = transition(b, 1);
        seal = stepSeal(t, 1, b[1], b[2]);
        fails(SEGMENT_PATH.selector);
        settlement.discharge(t, 2, x, seal);
        x = transition(b, 2);
        fails(TestStepVerifier.TEST_STATEMENT.selector);
        settlement.discharge(t, 2, x, seal);
        fails(SEAL_SELECTOR.selector);
        settlement.discharge(t, 2, x, abi.encodePacked(STEP2, seal));
        fails(SEAL_LENGTH.selector);
        settlement.discharge(t, 2, x, "");
        fails(SEGMENT_INDEX.selector);
        settlement.discharge(t, 4, x, seal);
    }

    function test_late_proof_is_refused() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, NONE);
        challenge(t, 0);
        later(41);
        bytes memory seal = stepSeal(t, 0, b[0], b[1]);
        fails(TOO_LATE.selector);
        settlement.discharge(t, 0, transition(b, 0), seal);
    }

    function test_false_start_is_refused() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        bytes32[] memory b = borders(t, 4, NONE);
        b[0] = keccak256("other");
        fails(RUN_START.selector);
        vm.prank(provider);
        settlement.commit(t, unsealed(t, b, 0));
    }

    function test_full_demands_every_segment() public {
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = committed(t, NONE);
        for (uint256 i = 0; i < 3; ++i) discharge(t, b, i);
        fails(DUTY_OPEN.selector);
        settlement.finalize(t, 0, 0);
        discharge(t, b, 3);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
    }

    function test_full_slashes_without_challenger() public {
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = committed(t, 1);
        discharge(t, b, 0);
        later(30 + 4 * 10);
        fails(TOO_EARLY.selector);
        settlement.lapse(t, 1, 0);
        later(1);
        fails(SEGMENT_PROVED.selector);
        settlement.lapse(t, 0, 0);
        settlement.lapse(t, 1, 0);
        isState(t, State.Slashed);
        equal(credit(client, t), t.price + t.stake / 2);
        equal(credit(treasury, t), t.stake - t.stake / 2);
    }

    function test_sample_is_fixed_by_both_seeds() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        bytes32[] memory b = committed(t, NONE);
        fails(DUTY_OPEN.selector);
        settlement.finalize(t, 0, 0);
        fails(SEED.selector);
        settlement.draw(t, keccak256("other"));
        settlement.draw(t, SEED_CLIENT);
        bytes32 seed = keccak256(abi.encode(SEED_CLIENT, SEED_PROVIDER, idOf(t), rootOf(b)));
        fails(DRAW_NONE.selector);
        settlement.draw(t, SEED_CLIENT);
        for (uint256 a = 0; a < t.samples; ++a) {
            uint256 segment = uint256(keccak256(abi.encode(seed, a))) % 4;
            equal(sampleOf(t, a), segment);
            if (!isProved(t, segment)) {
                fails(DUTY_OPEN.selector);
                settlement.finalize(t, 0, 0);
                discharge(t, b, segment);
            }
        }
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
    }

    function test_sampled_cheat_is_slashed() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.samples = 32;
        bytes32[] memory b = committed(t, 0);
        settlement.draw(t, SEED_CLIENT);
        uint256 a;
        while (sampleOf(t, a) != 0) ++a;
        later(30 + 32 * 10 + 1);
        fails(DUTY_NONE.selector);
        settlement.lapse(t, 0, a + 32);
        settlement.lapse(t, 0, a);
        isState(t, State.Slashed);
        b;
    }

    function test_wrong_provider_seed_is_refused() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        started(t);
        Run memory r = unsealed(t, borders(t, 4, NONE), 0);
        r.seedProvider = keccak256("other");
        fails(SEED.selector);
        vm.prank(provider);
        settlement.commit(t, r);
    }

    function test_late_client_seed_leaves_the_fallback_block() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        committed(t, NONE);
        fails(TOO_EARLY.selector);
        settlement.drawFallback(t, "");
        later(51);
        fails(TOO_LATE.selector);
        settlement.draw(t, SEED_CLIENT);
        fails(TOO_EARLY.selector);
        settlement.drawFallback(t, "");
        vm.roll(1033);
        vm.setBlockhash(1032, keccak256("some header"));
        fails(DRAW_HEADER.selector);
        settlement.drawFallback(t, "another header");
    }

    function test_duties_take_the_place_of_a_seal() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        bytes32[] memory b = committed(t, 1);
        fails(KEY_LIVE.selector);
        settlement.unseal(t, enclave);
        revoke(t);
        settlement.unseal(t, enclave);
        fails(CHALLENGE_CLOSED.selector);
        settlement.unseal(t, enclave);
        discharge(t, b, 0);
        later(201);
        fails(DUTY_OPEN.selector);
        settlement.finalize(t, 0, 0);
        settlement.lapse(t, 1, 0);
        isState(t, State.Unsealed);
    }

    function test_a_true_run_whose_seal_is_gone_is_paid() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        bytes32[] memory b = committed(t, NONE);
        revoke(t);
        settlement.unseal(t, enclave);
        for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
    }

    function test_a_tombstoned_selector_takes_the_seal_away() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        bytes4 selector = keys.SELECTOR();
        vm.prank(guardian);
        router.tombstone(selector);
        settlement.unseal(t, enclave);
        equal(dutyOf(t).flags, DUTY_ALL | DUTY_BY_UNSEAL);
    }

    function test_tee_job_without_seal_owes_everything() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        started(t);
        bytes32[] memory b = borders(t, 4, NONE);
        commit(t, unsealed(t, b, 0));
        fails(DUTY_EXISTS.selector);
        vm.prank(challenger);
        settlement.challenge(t, 0);
        for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
    }

    function test_stopped_prefix_is_paid_by_length() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        Run memory r = unsealed(t, borders(t, 3, NONE), OUTCOME_STOPPED);
        fails(RUN_OUTCOME.selector);
        vm.prank(provider);
        settlement.commit(t, r);
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.stop(t);
        vm.prank(client);
        settlement.stop(t);
        commit(t, r);
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Stopped);
        equal(credit(provider, t), uint256(t.price) * 3 / 4);
        equal(credit(client, t), t.price - uint256(t.price) * 3 / 4);
    }

    function test_range_failure_is_paid_in_part_or_refuted() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        bytes32[] memory b = borders(t, 2, NONE);
        commit(t, unsealed(t, b, OUTCOME_RANGE));
        bytes32[] memory path = pathOf(b, 2);
        bytes memory lie = stepSeal(t, 2, b[2], keccak256("false"));
        fails(TestStepVerifier.TEST_TRANSITION.selector);
        settlement.refute(t, b[2], path, keccak256("false"), lie);
        bytes32[] memory shorter = pathOf(b, 1);
        bytes32 possible = steps.next(b[2]);
        bytes memory seal = stepSeal(t, 2, b[2], possible);
        fails(SEGMENT_PATH.selector);
        settlement.refute(t, b[2], shorter, possible, seal);
        vm.prank(challenger);
        settlement.refute(t, b[2], path, possible, seal);
        isState(t, State.Slashed);
        equal(credit(challenger, t), 0);

        t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        commit(t, unsealed(t, borders(t, 2, NONE), OUTCOME_RANGE));
        later(201);
        uint256 before = credit(provider, t);
        settlement.finalize(t, 0, 0);
        isState(t, State.Stopped);
        equal(credit(provider, t) - before, uint256(t.price) * 2 / 4 / 2);
    }

    function test_vouchers_pay_once_and_count() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        bytes memory signature = sign(CLIENT_KEY, digest(Statements.voucher(idOf(t), 30 ether)));
        vm.prank(provider);
        settlement.voucher(t, 30 ether, signature);
        equal(credit(provider, t), 30 ether);
        fails(AMOUNT.selector);
        vm.prank(provider);
        settlement.voucher(t, 30 ether, signature);
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.voucher(t, 31 ether, signature);
        commit(t, unsealed(t, borders(t, 4, NONE), 0));
        later(201);
        settlement.finalize(t, 0, 0);
        equal(credit(provider, t), t.price);
    }

    function test_prefix_is_paid_less_the_holdback() public {
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = committed(t, 3);
        discharge(t, b, 0);
        discharge(t, b, 2);
        fails(DUTY_OPEN.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 2);
        discharge(t, b, 1);
        later(1);
        vm.prank(provider);
        settlement.claimPrefix(t, 3);
        uint256 paid = uint256(t.price) * 3 / 4 * 9 / 10;
        equal(credit(provider, t), paid);
        fails(AMOUNT.selector);
        vm.prank(provider);
        settlement.claimPrefix(t, 3);
        later(100);
        settlement.lapse(t, 3, 0);
        equal(credit(client, t), t.price - paid + t.stake / 2);
    }

    function test_windows_are_bounded() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.windows.provePer = type(uint32).max;
        fails(TERMS_WINDOW.selector);
        vm.prank(client);
        settlement.open(t);
    }

    function test_other_selector_keeps_a_job_alive() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.dutySelectors = new bytes4[](2);
        t.dutySelectors[0] = STEP;
        t.dutySelectors[1] = STEP2;
        bytes32[] memory b = committed(t, NONE);
        challenge(t, 0);
        vm.prank(guardian);
        router.tombstone(STEP);
        fails(VERIFIER_LIVE.selector);
        settlement.void(t);
        bytes memory body = abi.encode(
            TestStepVerifier.Statement(Statements.domain(address(settlement)), idOf(t), 0, b[0], b[1])
        );
        fails(ROUTER_TOMBSTONED.selector);
        settlement.discharge(t, 0, transition(b, 0), abi.encodePacked(STEP, body));
        settlement.discharge(t, 0, transition(b, 0), abi.encodePacked(STEP2, body));
    }
}
