// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../src/interfaces/IStepVerifier.sol";
import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {HookToken} from "./HookToken.sol";
import {Wallet} from "./Wallet.sol";
import {vm} from "./Vm.sol";

/// Who may do what: pause, award, contract signers, dead verifiers, registry, router, and calls from within calls.
contract GuardsTest is Fixture {
    uint256 private constant NONE = type(uint256).max;

    function test_a_pause_stops_new_jobs_and_nothing_else() public {
        Terms memory running = baseTerms(MODE_TEE);
        open(running);
        Terms memory waiting = baseTerms(MODE_TEE);
        open(waiting);
        fails(CALLER.selector);
        roles.setPaused(true);
        vm.prank(guardian);
        roles.setPaused(true);
        Terms memory late = baseTerms(MODE_TEE);
        late.acceptBy = uint40(NOW + 10_000);
        fails(PAUSED.selector);
        vm.prank(client);
        settlement.open(late);
        vm.prank(client);
        settlement.cancel(waiting);
        accept(running);
        start(running);
        commit(running, sealedRun(running, borders(running, 4, NONE), 0));
        later(201);
        settlement.finalize(running, 0, 0);
        vm.prank(provider);
        settlement.releaseStake(running.token, running.stake);
        uint256 before = token.balanceOf(provider);
        vm.prank(provider);
        settlement.withdraw(running.token);
        equal(token.balanceOf(provider) - before, uint256(running.price) + running.stake);
        vm.prank(client);
        settlement.withdraw(waiting.token);
        vm.prank(guardian);
        roles.setPaused(false);
        open(late);
    }

    function test_an_open_job_takes_the_provider_that_the_client_names() public {
        Terms memory t = baseTerms(MODE_TEE);
        t.provider = address(0);
        open(t);
        vm.prank(provider);
        settlement.depositStake(t.token, t.stake);
        bytes memory award = sign(CLIENT_KEY, digest(Statements.award(idOf(t), provider)));
        fails(SIGNATURE.selector);
        vm.prank(challenger);
        settlement.accept(t, 0, award);
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.accept(t, 0, "");
        vm.prank(provider);
        settlement.accept(t, 0, award);
        equal(uint160(settlement.jobOf(idOf(t)).awardee), uint160(provider));
        start(t);
        _awardeeAloneIsPaid(t);
    }

    function _awardeeAloneIsPaid(Terms memory t) private {
        Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
        _commitRefused(t, r, challenger, CALLER.selector);
        commit(t, r);
        later(201);
        settlement.finalize(t, 0, 0);
        equal(credit(provider, t), t.price);
    }

    function test_a_contract_signs_as_client() public {
        Wallet wallet = Wallet(payable(deploy("Wallet", abi.encode(vm.addr(0x3A11)))));
        token.mint(address(wallet), 1000 ether);
        wallet.call(address(token), 0, abi.encodeCall(token.approve, (address(settlement), type(uint256).max)));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        (t.client, t.provider) = (address(wallet), address(0));
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.open, (t)));
        vm.prank(provider);
        settlement.depositStake(t.token, t.stake);
        bytes32 id = idOf(t);
        bytes memory stranger = sign(CLIENT_KEY, digest(Statements.award(id, provider)));
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.accept(t, 0, stranger);
        bytes memory award = sign(0x3A11, digest(Statements.award(id, provider)));
        vm.prank(provider);
        settlement.accept(t, 0, award);
        start(t);
        bytes memory voucher = sign(0x3A11, digest(Statements.voucher(id, 7)));
        wallet.setRefuses(true);
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.voucher(t, 7, voucher);
        wallet.setRefuses(false);
        vm.prank(provider);
        settlement.voucher(t, 7, voucher);
        equal(credit(provider, t), 7);
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.stop, (t)));
    }

    /// No verifier is left that could judge a proof: nobody may be asked for one, or be slashed for none.
    function test_a_dead_verifier_slashes_nobody() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        challenge(t, 1);
        vm.prank(guardian);
        router.tombstone(STEP);
        fails(VERIFIER_DEAD.selector);
        vm.prank(challenger);
        settlement.challenge(t, 2);
        later(41);
        fails(VERIFIER_DEAD.selector);
        settlement.lapse(t, 1, 0);
        settlement.void(t);
        isState(t, State.Voided);
        settlement.refundBond(t, 1);
        equal(credit(challenger, t), t.bond);
        equal(credit(client, t), t.price);
        (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
        equal(free, t.stake);
        equal(locked, 0);
    }

    function test_a_seal_outlives_the_step_verifier() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        vm.prank(guardian);
        router.tombstone(STEP);
        fails(VERIFIER_LIVE.selector);
        settlement.void(t);
        later(201);
        settlement.finalize(t, 0, 0);
        equal(credit(provider, t), t.price);
    }

    function test_a_seal_that_stopped_counting_keeps_nothing_alive() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        vm.prank(guardian);
        router.tombstone(STEP);
        revoke(t);
        settlement.unseal(t, enclave);
        settlement.void(t);
        isState(t, State.Voided);
    }

    function test_a_job_before_its_commit_is_void_when_both_verifiers_are_dead() public {
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        started(t);
        vm.prank(guardian);
        router.tombstone(STEP);
        fails(VERIFIER_LIVE.selector);
        settlement.void(t);
        bytes4 selector = keys.SELECTOR();
        vm.prank(guardian);
        router.tombstone(selector);
        settlement.void(t);
        fails(JOB_ENDED.selector);
        settlement.void(t);
        Terms memory never = baseTerms(MODE_OPTIMISTIC);
        fails(JOB_STATE.selector);
        settlement.void(never);
        fails(ROUTER_TOMBSTONED.selector);
        vm.prank(client);
        settlement.open(never);
    }

    function test_a_seal_for_another_run_is_refused() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        Run memory r = sealedRun(t, borders(t, 4, 1), 0);
        r.borders = borders(t, 4, NONE);
        r.borders[4] = borders(t, 4, 1)[4];
        _commitRefused(t, r, provider, SEAL_SIGNER.selector); // another signer is recovered
    }

    function test_a_seal_that_is_none_is_refused() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
        for (uint256 i = 0; i < 4; ++i) r.seal[i] = STEP[i];
        _commitRefused(t, r, provider, SEAL_SELECTOR.selector);
        r.seal = hex"010203";
        _commitRefused(t, r, provider, SEAL_LENGTH.selector);
        r.seal = "";
        _commitRefused(t, r, provider, SEAL_MISSING.selector);
    }

    function test_a_seal_of_a_revoked_key_is_refused() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        revoke(t);
        _commitRefused(t, sealedRun(t, borders(t, 4, NONE), 0), provider, KEY_REVOKED.selector);
    }

    function _commitRefused(Terms memory t, Run memory r, address who, bytes4 code) private {
        fails(code);
        vm.prank(who);
        settlement.commit(t, r);
    }

    function test_selectors_are_added_once_and_die_for_ever() public {
        bytes4 fresh = 0x01020304;
        fails(CALLER.selector);
        vm.prank(client);
        router.add(fresh, steps);
        fails(ROUTER_CODE.selector);
        router.add(fresh, IStepVerifier(client));
        fails(ROUTER_TAKEN.selector);
        router.add(STEP, steps);
        fails(CALLER.selector);
        router.tombstone(STEP);
        vm.prank(guardian);
        router.tombstone(STEP);
        require(!router.isLive(STEP), "live");
        fails(ROUTER_TOMBSTONED.selector);
        vm.prank(guardian);
        router.tombstone(STEP);
        fails(ROUTER_TAKEN.selector);
        router.add(STEP, steps);
        vm.prank(guardian);
        router.tombstone(fresh);
        fails(ROUTER_TAKEN.selector);
        router.add(fresh, steps);
        fails(ROUTER_UNKNOWN.selector);
        router.verify(hex"0a0b0c0d", 0);
        fails(SEAL_LENGTH.selector);
        router.verify(hex"0a0b0c", 0);
    }

    function test_tokens_are_allowed_by_the_governor() public {
        HookToken other = HookToken(deploy("HookToken", ""));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.token = address(other);
        fails(TERMS_TOKEN.selector);
        vm.prank(client);
        settlement.open(t);
        fails(TERMS_TOKEN.selector);
        settlement.depositStake(address(other), 1);
        fails(CALLER.selector);
        vm.prank(client);
        roles.allow(address(other));
        roles.allow(address(other));
        other.mint(client, t.price);
        vm.startPrank(client);
        other.approve(address(settlement), t.price);
        fails(VALUE.selector);
        settlement.open{value: 1}(t);
        settlement.open(t);
        vm.stopPrank();
    }

    /// A token that calls back inside every transfer finds each call finished: nothing is paid twice.
    function test_calls_from_within_a_transfer_gain_nothing() public {
        HookToken hook = HookToken(deploy("HookToken", ""));
        roles.allow(address(hook));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.token = address(hook);
        hook.mint(client, 1000 ether);
        hook.mint(address(hook), 1000 ether);
        vm.prank(client);
        hook.approve(address(settlement), type(uint256).max);
        bytes[4] memory calls = [
            abi.encodeCall(settlement.open, (t)),
            abi.encodeCall(settlement.cancel, (t)),
            abi.encodeWithSignature("withdraw(address)", address(hook)),
            abi.encodeWithSignature("releaseStake(address,uint128)", address(hook), 1)
        ];
        for (uint256 i = 0; i < calls.length; ++i) {
            t.specDigest = keccak256(abi.encode("reentrant", i));
            hook.reenter(address(settlement), calls[i]);
            vm.prank(client);
            settlement.open(t);
            vm.prank(client);
            settlement.cancel(t);
            vm.prank(client);
            settlement.withdraw(address(hook));
        }
        require(hook.entered() > 0, "never called back");
        equal(hook.succeeded(), 0);
        equal(hook.balanceOf(address(settlement)), 0);
        equal(hook.balanceOf(client), 1000 ether);
    }

    /// Stake counts once its tokens are here: what is called back while they come finds none of it.
    function test_S_L8_stake_is_counted_after_its_tokens_came() public {
        HookToken hook = HookToken(deploy("HookToken", ""));
        roles.allow(address(hook));
        hook.mint(address(hook), 2 ether);
        vm.prank(address(hook));
        hook.approve(address(settlement), type(uint256).max);
        hook.reenter(address(settlement), abi.encodeWithSignature("releaseStake(address,uint128)", address(hook), 1));
        vm.prank(address(hook));
        settlement.depositStake(address(hook), 1 ether);
        require(hook.entered() > 0, "never called back");
        equal(hook.succeeded(), 0);
        (uint128 free,) = settlement.stakes(address(hook), address(hook));
        equal(free, 1 ether);
    }

    function test_a_payee_that_calls_back_is_paid_once() public {
        Wallet wallet = Wallet(payable(deploy("Wallet", abi.encode(client))));
        vm.deal(address(wallet), 100 ether);
        vm.deal(address(settlement), 0);
        Terms memory other = baseTerms(MODE_OPTIMISTIC);
        other.token = address(0);
        open(other);
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        (t.client, t.token) = (address(wallet), address(0));
        wallet.call(address(settlement), t.price, abi.encodeCall(settlement.open, (t)));
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.cancel, (t)));
        bytes memory withdrawal = abi.encodeWithSignature("withdraw(address)", address(0));
        wallet.reenter(address(settlement), withdrawal);
        wallet.call(address(settlement), 0, withdrawal);
        require(wallet.entered() && !wallet.succeeded(), "paid twice");
        equal(address(wallet).balance, 100 ether);
        equal(address(settlement).balance, other.price);
        fails(NOTHING_DUE.selector);
        wallet.call(address(settlement), 0, withdrawal);
    }

    function test_a_payee_that_refuses_coin_keeps_its_credit() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.token = address(0);
        (t.client,) = (address(steps), 0);
        vm.deal(address(steps), t.price);
        open(t);
        vm.prank(address(steps));
        settlement.cancel(t);
        fails(TRANSFER.selector);
        vm.prank(address(steps));
        settlement.withdraw(address(0));
        equal(credit(address(steps), t), t.price);
    }
}
