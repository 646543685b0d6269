// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// Outcome 3: an enclave stopped the run by the rule of the spec, and n of K segments are paid.
contract EarlyStopTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    uint16 private constant EARLY = MODE_TEE | MODE_REVEAL | MODE_EARLY;

    function test_a_sealed_early_stop_pays_n_of_K_and_refunds_the_rest() public {
        for (uint256 n = 0; n < 4; ++n) {
            Terms memory t = baseTerms(EARLY);
            t.price = 90 ether + 1; // rounds down for the provider
            started(t);
            commit(t, sealedRun(t, borders(t, n, NONE), OUTCOME_EARLY));
            (uint256 before, uint256 refund) = (credit(provider, t), credit(client, t));
            later(201);
            settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
            isState(t, State.Stopped);
            equal(credit(provider, t) - before, uint256(t.price) * n / 4);
            equal(credit(client, t) - refund, t.price - uint256(t.price) * n / 4);
            (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
            equal(free, uint256(t.stake) * (n + 1));
            equal(locked, 0);
        }
    }

    function test_it_ends_before_the_last_segment() public {
        Terms memory t = baseTerms(EARLY);
        started(t);
        _refused(t, sealedRun(t, borders(t, 4, NONE), OUTCOME_EARLY), RUN_OUTCOME.selector);
        _refused(t, sealedRun(t, borders(t, 3, NONE), OUTCOME_COMPLETE), RUN_OUTCOME.selector);
        commit(t, sealedRun(t, borders(t, 4, NONE), OUTCOME_COMPLETE));
        later(201);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        isState(t, State.Settled);
        equal(credit(provider, t), t.price);
    }

    function test_only_terms_that_allow_it_have_it() public {
        uint16[4] memory modes =
            [MODE_TEE | MODE_REVEAL, MODE_TEE | MODE_FULL | MODE_REVEAL, MODE_OPTIMISTIC, MODE_FULL];
        for (uint256 i = 0; i < modes.length; ++i) {
            Terms memory t = baseTerms(modes[i]);
            started(t);
            bytes32[] memory b = borders(t, 2, NONE);
            Run memory r = t.mode & MODE_TEE != 0 ? sealedRun(t, b, OUTCOME_EARLY) : unsealed(t, b, OUTCOME_EARLY);
            _refused(t, r, RUN_OUTCOME.selector);
        }
    }

    function test_it_needs_the_seal_and_a_delivery() public {
        Terms memory t = baseTerms(EARLY);
        started(t);
        bytes32[] memory b = borders(t, 2, NONE);
        Run memory r = sealedRun(t, b, OUTCOME_EARLY);
        bytes memory seal = r.seal;
        (r.seal, r.keys) = ("", new address[](0));
        _refused(t, r, SEAL_MISSING.selector);
        (r.seal, r.keys) = (seal, only(enclave));
        r.delivery = 0;
        _refused(t, r, RUN_DELIVERY.selector);
    }

    /// The seal of one outcome or length is no seal of another.
    function test_a_seal_is_over_outcome_and_length() public {
        Terms memory t = baseTerms(EARLY);
        started(t);
        Run memory r = sealedRun(t, borders(t, 2, NONE), OUTCOME_EARLY);
        bytes memory seal = r.seal;
        r = sealedRun(t, borders(t, 3, NONE), OUTCOME_EARLY);
        r.seal = seal;
        _refused(t, r, SEAL_SIGNER.selector);
        r = sealedRun(t, borders(t, 2, NONE), OUTCOME_RANGE);
        r.seal = seal;
        _refused(t, r, SEAL_SIGNER.selector);
    }

    /// A revoked key takes the payment of an early stop away like any other.
    function test_without_its_seal_nothing_is_paid() public {
        Terms memory t = baseTerms(EARLY);
        started(t);
        commit(t, sealedRun(t, borders(t, 2, NONE), OUTCOME_EARLY));
        revokeKey(t, enclave);
        settlement.unseal(t, enclave);
        settlement.finalize(t, 0, 0);
        isState(t, State.Unsealed);
        equal(credit(provider, t), 0);
        equal(credit(client, t), t.price);
    }

    function _refused(Terms memory t, Run memory r, bytes4 code) private {
        fails(code);
        vm.prank(provider);
        settlement.commit(t, r);
    }
}
