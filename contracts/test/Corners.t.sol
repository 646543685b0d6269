// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import "../src/Errors.sol";
import {Statements} from "../src/libraries/Statements.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// What the whole mutation run showed that no other test looks at.
contract CornersTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    function test_only_the_client_opens_its_job() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        fails(CALLER.selector);
        vm.prank(challenger);
        settlement.open(t);
        isState(t, State.None);
    }

    function test_the_start_window_runs_from_the_acceptance() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        later(90);
        accept(t);
        later(60);
        fails(TOO_EARLY.selector);
        settlement.abort(t);
        start(t);
    }

    /// A verifier of seals that the mode does not ask for saves no job.
    function test_an_enclave_keeps_no_job_alive_that_takes_no_seal() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        started(t);
        vm.prank(guardian);
        router.tombstone(STEP);
        settlement.void(t);
        isState(t, State.Voided);
    }

    function test_duties_need_a_selector_also_without_a_window() public {
        Terms memory t = baseTerms(MODE_FULL);
        t.dutySelectors = new bytes4[](0);
        fails(TERMS_SELECTORS.selector);
        vm.prank(client);
        settlement.open(t);
    }

    function test_the_domain_is_that_of_the_chain() public {
        bytes32 before = Statements.domain(address(settlement));
        vm.chainId(4711);
        bytes32 type_ = keccak256(
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
        );
        bytes32 expected = keccak256(
            abi.encode(type_, keccak256("Settlement"), keccak256("2"), uint256(4711), address(settlement))
        );
        require(Statements.domain(address(settlement)) == expected && before != expected, "another chain's domain");
    }

    function test_a_block_without_a_hash_has_no_mix() public {
        fails(DRAW_HEADER.selector);
        randao.mixOf(vm.getBlockNumber() + 1, "");
    }

    function test_a_challenge_costs_its_bond_and_gives_it_back_once() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        bytes32[] memory b = committed(t, NONE);
        uint256 held = token.balanceOf(challenger);
        challenge(t, 1);
        equal(held - token.balanceOf(challenger), t.bond);
        discharge(t, b, 1);
        later(201);
        settlement.finalize(t, 0, 0);
        fails(DUTY_NONE.selector);
        settlement.refundBond(t, 1);
    }

    function test_a_challenge_comes_after_the_drawn_segments() public {
        Terms memory t = baseTerms(MODE_SAMPLE | MODE_OPTIMISTIC);
        committed(t, NONE);
        settlement.draw(t, SEED_CLIENT);
        challenge(t, 0);
        equal(challengeOf(t, 0).deadline, vm.getBlockTimestamp() + 30 + 2 * 10 + 10);
    }

    function test_a_delivery_needs_a_seal_also_where_proofs_would_do() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        disputable(t);
        started(t);
        Run memory r = unsealed(t, borders(t, 4, NONE), 0);
        r.delivery = keccak256("delivery");
        fails(SEAL_MISSING.selector);
        vm.prank(provider);
        settlement.commit(t, r);
    }

    function test_a_whole_job_is_proved_until_its_deadline() public {
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = committed(t, NONE);
        later(30 + 4 * 10);
        discharge(t, b, 0);
        later(1);
        fails(TOO_LATE.selector);
        this.late(t, b, 1);
    }

    function late(Terms memory t, bytes32[] memory b, uint256 segment) external {
        discharge(t, b, segment);
    }
}
