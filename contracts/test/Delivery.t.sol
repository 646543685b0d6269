// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// The result against payment: settlement §12.
contract DeliveryTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    bytes32 private constant KEY_COMMIT = keccak256(abi.encode(REVEAL_KEY));

    function _delivered() private returns (Terms memory t) {
        register(uint40(NOW + 10_000));
        t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows.ack = 50;
        committed(t, NONE);
    }

    function test_only_the_sealed_key_is_paid() public {
        Terms memory t = _delivered();
        later(51);
        fails(DELIVERY_KEY.selector);
        settlement.finalize(t, CIPHERTEXT, "other key");
        fails(DELIVERY_KEY.selector);
        settlement.finalize(t, keccak256("other ciphertext"), REVEAL_KEY);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        equal(credit(provider, t), t.price);
    }

    function test_payment_waits_for_the_ack_window_or_the_client() public {
        Terms memory t = _delivered();
        later(49);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.acknowledge(t);
        vm.prank(client);
        settlement.acknowledge(t);
        fails(DELIVERY_CLAIMED.selector);
        vm.prank(client);
        settlement.acknowledge(t);
        fails(DELIVERY_CLAIMED.selector);
        vm.prank(client);
        settlement.missing(t);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        isState(t, State.Settled);
    }

    function test_a_ciphertext_that_nobody_shows_ends_the_job() public {
        Terms memory t = _delivered();
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.missing(t);
        vm.prank(client);
        settlement.missing(t);
        fails(DELIVERY_PENDING.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        later(50);
        fails(TOO_EARLY.selector);
        settlement.undelivered(t);
        later(1);
        settlement.undelivered(t);
        isState(t, State.Undelivered);
        equal(credit(client, t), t.price + t.liveness + t.bondFee);
        (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
        equal(free, t.stake - t.liveness);
        equal(locked, 0);
    }

    function test_missing_after_the_window_is_refused() public {
        Terms memory t = _delivered();
        later(51);
        fails(TOO_LATE.selector);
        vm.prank(client);
        settlement.missing(t);
    }

    function test_attestors_who_fetched_the_ciphertext_answer() public {
        Terms memory t = _delivered();
        bytes[] memory signatures = quorum(Statements.availability(idOf(t), CIPHERTEXT), 5);
        fails(DELIVERY_MODE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, signatures);
        vm.prank(client);
        settlement.missing(t);
        fails(DELIVERY_KEY.selector);
        settlement.available(t, keccak256("other"), KEY_COMMIT, signatures);
        bytes[] memory four = quorum(Statements.availability(idOf(t), CIPHERTEXT), 4);
        fails(QUORUM_SHORT.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, four);
        bytes[] memory others = quorum(Statements.availability(keccak256("other job"), CIPHERTEXT), 5);
        fails(QUORUM_SIGNER.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, others);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, signatures);
        equal(credit(provider, t), t.bondFee);
        fails(DELIVERY_CLAIMED.selector);
        vm.prank(client);
        settlement.missing(t);
        fails(DELIVERY_MODE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, signatures);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        equal(credit(provider, t), t.price + t.bondFee);
    }

    function test_a_late_answer_is_refused() public {
        Terms memory t = _delivered();
        vm.prank(client);
        settlement.missing(t);
        later(51);
        bytes[] memory signatures = quorum(Statements.availability(idOf(t), CIPHERTEXT), 5);
        fails(TOO_LATE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, signatures);
    }

    function test_the_ciphertext_itself_answers() public {
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows.ack = 50;
        started(t);
        bytes memory ciphertext = "the encrypted weights";
        bytes32 digest_ = sha256(ciphertext);
        commit(t, sealedDelivery(t, borders(t, 4, NONE), keccak256(abi.encode(digest_, KEY_COMMIT))));
        vm.prank(client);
        settlement.missing(t);
        fails(DELIVERY_KEY.selector);
        settlement.publish(t, KEY_COMMIT, "other weights");
        fails(DELIVERY_KEY.selector);
        settlement.publish(t, keccak256("other commitment"), ciphertext);
        settlement.publish(t, KEY_COMMIT, ciphertext);
        settlement.finalize(t, digest_, REVEAL_KEY);
        equal(credit(provider, t), t.price + t.bondFee);
    }

    function test_a_key_that_never_comes_gives_the_price_back() public {
        Terms memory t = _delivered();
        later(50 + 100);
        fails(TOO_EARLY.selector);
        settlement.undelivered(t);
        later(1);
        settlement.undelivered(t);
        equal(credit(client, t), t.price + t.liveness);
        fails(JOB_STATE.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
    }

    function test_delivery_is_for_jobs_that_ask_for_it() public {
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE);
        t.windows.challenge = 10;
        t.dutySelectors = new bytes4[](1);
        t.dutySelectors[0] = STEP;
        (t.windows.prove, t.windows.provePer) = (1, 1);
        committed(t, NONE);
        fails(DELIVERY_MODE.selector);
        settlement.undelivered(t);
        fails(DELIVERY_MODE.selector);
        vm.prank(client);
        settlement.missing(t);
        fails(DELIVERY_MODE.selector);
        vm.prank(client);
        settlement.acknowledge(t);
    }

    function test_a_run_carries_a_delivery_exactly_when_agreed() public {
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        started(t);
        bytes32[] memory b = borders(t, 4, NONE);
        fails(RUN_DELIVERY.selector);
        this.commitDelivery(t, b, 0);
        Terms memory plain = baseTerms(MODE_TEE);
        started(plain);
        bytes32[] memory c = borders(plain, 4, NONE);
        fails(RUN_DELIVERY.selector);
        this.commitDelivery(plain, c, keccak256("delivery"));
    }

    function commitDelivery(Terms memory t, bytes32[] memory b, bytes32 delivery) external {
        commit(t, sealedDelivery(t, b, delivery));
    }
}
