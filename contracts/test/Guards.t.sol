// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Appraisal} from "../src/EnclaveRegistry.sol";
import {Run} from "../src/Running.sol";
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
        register(uint40(NOW + 10_000));
        Terms memory running = baseTerms(MODE_TEE);
        open(running);
        Terms memory waiting = baseTerms(MODE_TEE);
        open(waiting);
        fails(CALLER.selector);
        settlement.setPaused(true);
        vm.prank(guardian);
        settlement.setPaused(true);
        Terms memory late = baseTerms(MODE_TEE);
        fails(PAUSED.selector);
        vm.prank(client);
        settlement.open(late);
        vm.prank(client);
        settlement.cancel(waiting);
        accept(running);
        start(running);
        commit(running, sealedRun(running, borders(running, 4, NONE), 0));
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
        settlement.setPaused(false);
        open(late);
    }

    function test_an_open_job_takes_the_provider_that_the_client_names() public {
        register(uint40(NOW + 10_000));
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
        Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
        fails(CALLER.selector);
        vm.prank(challenger);
        settlement.commit(t, r);
        commit(t, r);
        settlement.finalize(t, 0, 0);
        equal(credit(provider, t), t.price);
    }

    function test_a_contract_signs_as_client() public {
        Wallet wallet = Wallet(payable(deploy("Wallet", abi.encode(vm.addr(0x3A11)))));
        token.mint(address(wallet), 1000 ether);
        wallet.call(address(token), 0, abi.encodeCall(token.approve, (address(settlement), type(uint256).max)));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        (t.client, t.provider, t.keyBroker) = (address(wallet), address(0), address(0));
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
        bytes memory release = sign(0x3A11, digest(Statements.release(id, "key", "shards")));
        wallet.setRefuses(true);
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.start(t, "key", "shards", address(wallet), release);
        wallet.setRefuses(false);
        vm.prank(provider);
        settlement.start(t, "key", "shards", address(wallet), release);
        bytes memory voucher = sign(0x3A11, digest(Statements.voucher(id, 7)));
        vm.prank(provider);
        settlement.voucher(t, 7, voucher);
        equal(credit(provider, t), 7);
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.stop, (t)));
    }

    function test_start_needs_a_release_of_this_job_in_time() public {
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE);
        open(t);
        accept(t);
        bytes memory release = sign(BROKER_KEY, digest(Statements.release(idOf(t), "key", 0)));
        fails(CALLER.selector);
        vm.prank(provider);
        settlement.start(t, "key", 0, challenger, release);
        fails(SIGNATURE.selector);
        vm.prank(provider);
        settlement.start(t, "other key", 0, broker, release);
        bytes memory receipt = abi.encodePacked(
            tee.SELECTOR(), sign(enclaveSecret, digest(Statements.release(idOf(t), "key", "shards")))
        );
        fails(ENCLAVE_UNKNOWN.selector);
        vm.prank(provider);
        settlement.start(t, "key", "other shards", address(0), receipt);
        vm.prank(provider);
        settlement.start(t, "key", "shards", address(0), receipt);
        Terms memory late = baseTerms(MODE_OPTIMISTIC);
        open(late);
        accept(late);
        fails(TERMS_MODE.selector);
        vm.prank(provider);
        settlement.start(late, "key", "shards", address(0), receipt);
        later(61);
        bytes memory lateRelease = sign(BROKER_KEY, digest(Statements.release(idOf(late), "key", 0)));
        fails(TOO_LATE.selector);
        vm.prank(provider);
        settlement.start(late, "key", 0, broker, lateRelease);
        settlement.abort(late);
        equal(credit(client, late), late.price);
    }

    /// No verifier is left that could judge a proof: nobody may be asked for one, or be slashed for none.
    function test_a_dead_verifier_slashes_nobody() public {
        register(uint40(NOW + 10_000));
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
        register(uint40(NOW + 10_000));
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
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE);
        disputable(t);
        committed(t, NONE);
        vm.prank(guardian);
        router.tombstone(STEP);
        revoke();
        settlement.escalate(t);
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
        bytes4 selector = tee.SELECTOR();
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
        register(uint40(NOW + 10_000));
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        Run memory r = sealedRun(t, borders(t, 4, 1), 0);
        r.borders = borders(t, 4, NONE);
        r.borders[4] = borders(t, 4, 1)[4];
        fails(ENCLAVE_UNKNOWN.selector); // another signer is recovered
        vm.prank(provider);
        settlement.commit(t, r);
        r.borders = borders(t, 4, NONE);
        r.seal = abi.encodePacked(STEP, r.seal);
        fails(SEAL_SELECTOR.selector);
        vm.prank(provider);
        settlement.commit(t, r);
        r.seal = hex"010203";
        fails(SEAL_LENGTH.selector);
        vm.prank(provider);
        settlement.commit(t, r);
        r.seal = "";
        fails(SEAL_MISSING.selector);
        vm.prank(provider);
        settlement.commit(t, r);
        r = sealedRun(t, borders(t, 4, NONE), 0);
        revoke();
        fails(ENCLAVE_REVOKED.selector);
        vm.prank(provider);
        settlement.commit(t, r);
    }

    function test_registrations_end_by_time_and_by_quorum() public {
        register(uint40(NOW + 100));
        bytes32 seal = keccak256("any");
        registry.requireLive(enclave, POLICY, provider, 1);
        fails(ENCLAVE_POLICY.selector);
        registry.requireLive(enclave, keccak256("other policy"), provider, 1);
        fails(ENCLAVE_PROVIDER.selector);
        registry.requireLive(enclave, POLICY, client, 1);
        fails(ENCLAVE_TIER.selector);
        registry.requireLive(enclave, POLICY, provider, 2);
        fails(ENCLAVE_UNKNOWN.selector);
        registry.requireLive(address(uint160(uint256(seal))), POLICY, provider, 1);
        later(101);
        fails(ENCLAVE_EXPIRED.selector);
        registry.requireLive(enclave, POLICY, provider, 1);
        register(uint40(NOW + 1000)); // attested again
        registry.requireLive(enclave, POLICY, provider, 1);
        require(!registry.enclaveOf(enclave).revoked, "revoked");
        revoke();
        require(registry.enclaveOf(enclave).revoked, "not revoked");
        fails(ENCLAVE_REVOKED.selector);
        registry.requireLive(enclave, POLICY, provider, 1);
        fails(ENCLAVE_REVOKED.selector);
        this.tryRegister(enclave, POLICY, provider, "fresh", uint40(NOW + 2000));
        bytes[] memory again = quorum(Statements.revocation(enclave, "extracted"), 5);
        fails(ENCLAVE_REVOKED.selector);
        registry.revoke(enclave, "extracted", again);
    }

    function test_a_key_may_be_revoked_before_anyone_registers_it() public {
        revoke();
        require(registry.enclaveOf(enclave).revoked, "not revoked");
        fails(ENCLAVE_REVOKED.selector);
        this.tryRegister(enclave, POLICY, provider, "evidence", uint40(NOW + 100));
        fails(ENCLAVE_REVOKED.selector);
        registry.requireLive(enclave, POLICY, provider, 1);
    }

    function test_one_evidence_registers_one_key_of_one_provider() public {
        this.tryRegister(enclave, POLICY, provider, "evidence", uint40(NOW + 100));
        fails(EVIDENCE_USED.selector);
        this.tryRegister(client, POLICY, provider, "evidence", uint40(NOW + 100));
        fails(ENCLAVE_PROVIDER.selector);
        this.tryRegister(enclave, POLICY, client, "evidence 2", uint40(NOW + 100));
        fails(ENCLAVE_POLICY.selector);
        this.tryRegister(enclave, keccak256("other"), provider, "evidence 2", uint40(NOW + 100));
        fails(ENCLAVE_EXPIRED.selector);
        this.tryRegister(client, POLICY, provider, "evidence 2", uint40(NOW - 1));
        fails(ENCLAVE_UNKNOWN.selector);
        this.tryRegister(address(0), POLICY, provider, "evidence 2", uint40(NOW + 100));
        fails(CALLER.selector);
        registry.registerVerified(Appraisal(client, POLICY, provider, "evidence 2", uint40(NOW + 100)), "image");
        // An end beyond 2106 is kept as 2106; nothing wraps into the past.
        this.tryRegister(client, POLICY, provider, "evidence 3", type(uint40).max);
        equal(registry.enclaveOf(client).quorumUntil, type(uint32).max);
    }

    function tryRegister(address key, bytes32 policy, address who, bytes32 evidence, uint40 until) external {
        registry.register(
            Appraisal(key, policy, who, evidence, until),
            quorum(Statements.appraisal(key, policy, who, evidence, until), 5)
        );
    }

    function test_a_quorum_is_five_distinct_attestors() public {
        Appraisal memory a = Appraisal(enclave, POLICY, provider, "evidence", uint40(NOW + 100));
        bytes32 hash = Statements.appraisal(a.key, a.policy, a.provider, a.evidence, a.notAfter);
        bytes[] memory five = quorum(hash, 5);
        five[4] = five[0];
        fails(QUORUM_REPEATED.selector);
        registry.register(a, five);
        five[4] = sign(CLIENT_KEY, keccak256(abi.encodePacked("\x19\x01", registry.domainSeparator(), hash)));
        fails(QUORUM_SIGNER.selector);
        registry.register(a, five);
        five[4] = new bytes(65);
        fails(SIGNATURE.selector);
        registry.register(a, five);
        five[4] = new bytes(64);
        fails(SIGNATURE.selector);
        registry.register(a, five);
        bytes[] memory four = quorum(hash, 4);
        fails(QUORUM_SHORT.selector);
        registry.register(a, four);
        five = quorum(hash, 5);
        address[] memory out = new address[](1);
        out[0] = attestors[0];
        fails(CALLER.selector);
        vm.prank(client);
        registry.changeAttestors(new address[](0), out, 5);
        registry.changeAttestors(new address[](0), out, 5);
        fails(QUORUM_SIGNER.selector);
        registry.register(a, five);
        fails(QUORUM_SIGNER.selector);
        registry.changeAttestors(new address[](0), out, 5);
        fails(QUORUM_SIZE.selector);
        registry.changeAttestors(new address[](0), new address[](0), 9);
        fails(QUORUM_SIZE.selector);
        registry.changeAttestors(new address[](0), new address[](0), 0);
        registry.changeAttestors(out, new address[](0), 5);
        fails(QUORUM_REPEATED.selector);
        registry.changeAttestors(out, new address[](0), 5);
        require(registry.isAttestor(out[0]) && registry.attestorCount() == 9, "attestors");
        registry.register(a, five);
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
        settlement.allowToken(address(other));
        settlement.allowToken(address(other));
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
        settlement.allowToken(address(hook));
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
