// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// The result against payment: contracts/SPEC.md §12.
contract DeliveryTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    uint256 private constant CHUNK = 98_304;
    bytes32 private constant KEY_COMMIT = keccak256(abi.encode(REVEAL_KEY));

    function _delivered() private returns (Terms memory t) {
        t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows.ack = 250;
        committed(t, NONE);
    }

    function _complain(Terms memory t) private {
        vm.prank(client);
        settlement.missing(t);
    }

    function _available(Terms memory t, uint40 until) private view returns (bytes[] memory s) {
        s = new bytes[](1);
        s[0] = sign(BROKER_KEY, digest(Statements.availability(idOf(t), CIPHERTEXT, until)));
    }

    function _later() private view returns (uint40) {
        return uint40(vm.getBlockTimestamp() + 30 days);
    }

    function test_only_the_sealed_key_is_paid() public {
        Terms memory t = _delivered();
        later(251);
        fails(DELIVERY_KEY.selector);
        settlement.finalize(t, CIPHERTEXT, "other key");
        fails(DELIVERY_KEY.selector);
        settlement.finalize(t, keccak256("other ciphertext"), REVEAL_KEY);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        equal(credit(provider, t), t.price);
    }

    function test_payment_waits_for_the_ack_window_or_the_client() public {
        Terms memory t = _delivered();
        later(250);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.acknowledge(t);
        vm.warp(vm.getBlockTimestamp() - 30);
        vm.prank(client);
        settlement.acknowledge(t);
        fails(DELIVERY_CLAIMED.selector);
        vm.prank(client);
        settlement.acknowledge(t);
        fails(DELIVERY_CLAIMED.selector);
        vm.prank(client);
        settlement.missing(t);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        later(1);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        isState(t, State.Settled);
    }

    function test_an_acknowledgement_after_the_window_delays_nothing() public {
        Terms memory t = _delivered();
        later(251);
        vm.prank(client);
        settlement.acknowledge(t);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
    }

    function test_a_ciphertext_that_nobody_shows_ends_the_job() public {
        Terms memory t = _delivered();
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.missing(t);
        uint256 held = token.balanceOf(client);
        _complain(t);
        equal(held - token.balanceOf(client), t.publishFee);
        later(250);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        fails(TOO_EARLY.selector);
        settlement.undelivered(t);
        later(1);
        fails(DELIVERY_PENDING.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        settlement.undelivered(t);
        isState(t, State.Undelivered);
        equal(credit(client, t), t.price + t.liveness + t.publishFee);
        (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
        equal(free, t.stake - t.liveness);
        equal(locked, 0);
    }

    function test_missing_after_the_window_is_refused() public {
        Terms memory t = _delivered();
        later(251);
        fails(TOO_LATE.selector);
        _complain(t);
    }

    function test_the_broker_that_keeps_the_ciphertext_answers() public {
        Terms memory t = _delivered();
        bytes[] memory s = _available(t, _later());
        uint40 until = _later();
        fails(DELIVERY_MODE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
        _complain(t);
        fails(DELIVERY_KEY.selector);
        settlement.available(t, keccak256("other"), KEY_COMMIT, until, s);
        fails(DELIVERY_KEY.selector);
        settlement.available(t, CIPHERTEXT, "other", until, s);
        fails(QUORUM_SHORT.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, new bytes[](0));
        fails(QUORUM_SIGNER.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until - 1, s);
        uint40 soon = uint40(vm.getBlockTimestamp() + 249);
        bytes[] memory over = _available(t, soon);
        fails(AVAILABILITY_ENDS.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, soon, over);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
        equal(credit(provider, t), t.publishFee);
        fails(DELIVERY_MODE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
        later(250);
        fails(TOO_EARLY.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        later(1);
        fails(TOO_LATE.selector);
        _complain(t);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        equal(credit(provider, t), t.price + t.publishFee);
    }

    function test_as_many_attestors_as_the_job_needs_answer_for_the_broker() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.needed = 2;
        committed(t, NONE);
        _complain(t);
        uint40 until = _later();
        bytes32 hash = Statements.availability(idOf(t), CIPHERTEXT, until);
        bytes[] memory one = quorum(hash, 1);
        fails(QUORUM_SHORT.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, one);
        bytes[] memory two = quorum(hash, 2);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, two);
    }

    function test_a_late_answer_is_refused() public {
        Terms memory t = _delivered();
        _complain(t);
        bytes[] memory s = _available(t, _later());
        uint40 until = _later();
        later(251);
        fails(TOO_LATE.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
    }

    /// The broker signs and serves nothing: the second complaint is answered on chain alone, and both cost a deposit.
    function test_S_H3_a_signature_is_not_the_last_word_on_availability() public {
        Terms memory t = _delivered();
        _complain(t);
        bytes[] memory s = _available(t, _later());
        uint40 until = _later();
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
        later(250);
        uint256 held = token.balanceOf(client);
        _complain(t);
        equal(held - token.balanceOf(client), t.publishFee);
        fails(DELIVERY_PUBLISH.selector);
        settlement.available(t, CIPHERTEXT, KEY_COMMIT, until, s);
        fails(PUBLISH_MISSING.selector);
        settlement.published(t, CIPHERTEXT, KEY_COMMIT);
        later(251);
        settlement.undelivered(t);
        equal(credit(client, t), t.price + t.liveness + t.publishFee);
    }

    function _chunk(uint256 i, uint256 size) private pure returns (bytes memory chunk) {
        chunk = new bytes(size);
        for (uint256 k = 0; k < size; k += 977) chunk[k] = bytes1(uint8(i + 1));
    }

    /// A result of several transactions' size can be published, by anyone, in any order, also before anybody asks.
    function test_S_H3_a_result_is_published_in_pieces() public {
        uint256[3] memory sizes = [CHUNK, CHUNK, uint256(5)];
        bytes32[] memory hashes = new bytes32[](3);
        for (uint256 i = 0; i < 3; ++i) hashes[i] = sha256(_chunk(i, sizes[i]));
        uint64 length = uint64(2 * CHUNK + 5);
        bytes32 name = sha256(abi.encodePacked("veritrain/chunks/1", length, hashes));
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        started(t);
        commit(t, sealedDelivery(t, borders(t, 4, NONE), keccak256(abi.encode(name, KEY_COMMIT))));
        bytes memory last = _chunk(2, 5);
        fails(PUBLISH_HASHES.selector);
        delivery.publish(hashes, uint64(2 * CHUNK), 2, last);
        fails(PUBLISH_HASHES.selector);
        delivery.publish(new bytes32[](0), 0, 0, "");
        fails(PUBLISH_HASHES.selector);
        delivery.publish(new bytes32[](172), uint64(171 * CHUNK + 1), 171, "x");
        fails(PUBLISH_INDEX.selector);
        delivery.publish(hashes, length, 3, last);
        fails(PUBLISH_CHUNK.selector);
        delivery.publish(hashes, length, 1, last);
        fails(PUBLISH_CHUNK.selector);
        delivery.publish(hashes, length, 2, "12345");
        delivery.publish(hashes, length, 2, last);
        _complain(t);
        vm.prank(challenger);
        delivery.publish(hashes, length, 0, _chunk(0, CHUNK));
        delivery.publish(hashes, length, 0, _chunk(0, CHUNK));
        equal(delivery.publishedChunks(name), 5);
        fails(PUBLISH_MISSING.selector);
        settlement.published(t, name, KEY_COMMIT);
        delivery.publish(hashes, length, 1, _chunk(1, CHUNK));
        require(delivery.isPublished(name), "not published");
        fails(DELIVERY_KEY.selector);
        settlement.published(t, name, "other");
        settlement.published(t, name, KEY_COMMIT);
        fails(DELIVERY_CLAIMED.selector);
        _complain(t);
        later(201);
        settlement.finalize(t, name, REVEAL_KEY);
        equal(credit(provider, t), t.price + t.publishFee);
    }

    function test_a_key_that_never_comes_gives_the_price_back() public {
        Terms memory t = _delivered();
        later(250 + 100);
        fails(TOO_EARLY.selector);
        settlement.undelivered(t);
        later(1);
        settlement.undelivered(t);
        equal(credit(client, t), t.price + t.liveness);
        fails(JOB_STATE.selector);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
    }

    function test_delivery_is_for_jobs_that_ask_for_it() public {
        Terms memory t = baseTerms(MODE_TEE);
        committed(t, NONE);
        fails(DELIVERY_MODE.selector);
        settlement.undelivered(t);
        fails(DELIVERY_MODE.selector);
        _complain(t);
        fails(DELIVERY_MODE.selector);
        vm.prank(client);
        settlement.acknowledge(t);
    }

    function test_a_run_carries_a_delivery_exactly_when_agreed() public {
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

    function commitDelivery(Terms memory t, bytes32[] memory b, bytes32 sealed_) external {
        commit(t, sealedDelivery(t, b, sealed_));
    }
}
