// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Appraisal, IMeasurements} from "../src/EnclaveRegistry.sol";
import {Run} from "../src/Running.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// What the whole mutation run showed that no other test looks at. This contract is the registry's SNP registrar.
contract CornersTest is Fixture, IMeasurements {
    uint256 private constant NONE = type(uint256).max;
    bytes32 private constant IMAGE = keccak256("image");

    bool private _allowsImage = true;

    function isAllowed(bytes32 policy, bytes32 measurement) external view returns (bool) {
        return _allowsImage && policy == POLICY && measurement == IMAGE;
    }

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

    function test_exposure_counts_sealed_runs_with_a_window_alone() public {
        register(type(uint40).max);
        Terms memory plain = baseTerms(MODE_TEE);
        started(plain);
        commit(plain, sealedRun(plain, borders(plain, 4, NONE), 0));
        equal(settlement.exposure(enclave, plain.token), 0);
        Terms memory unsealedJob = baseTerms(MODE_OPTIMISTIC);
        committed(unsealedJob, NONE);
        equal(settlement.exposure(address(0), unsealedJob.token), 0);
        Terms memory windowed = baseTerms(MODE_TEE);
        disputable(windowed);
        committed(windowed, NONE);
        equal(settlement.exposure(enclave, windowed.token), windowed.price);
    }

    function test_missing_costs_a_deposit_and_opens_a_window_of_its_own() public {
        register(type(uint40).max);
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows.ack = 50;
        committed(t, NONE);
        later(50);
        uint256 held = token.balanceOf(client);
        vm.prank(client);
        settlement.missing(t);
        equal(held - token.balanceOf(client), t.bondFee);
        later(50);
        fails(TOO_EARLY.selector);
        settlement.undelivered(t);
        later(1);
        settlement.undelivered(t);
        isState(t, State.Undelivered);
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

    function test_a_job_that_takes_no_seal_may_name_a_dead_enclave_verifier() public {
        vm.startPrank(guardian);
        router.tombstone(tee.SELECTOR());
        vm.stopPrank();
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        isState(t, State.Open);
    }

    function test_duties_need_a_selector_also_without_a_window() public {
        Terms memory t = baseTerms(MODE_FULL);
        t.dutySelectors = new bytes4[](0);
        fails(TERMS_SELECTORS.selector);
        vm.prank(client);
        settlement.open(t);
    }

    function test_the_domain_is_that_of_the_chain() public {
        bytes32 before = settlement.domainSeparator();
        vm.chainId(4711);
        bytes32 type_ = keccak256(
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
        );
        bytes32 expected = keccak256(
            abi.encode(type_, keccak256("Settlement"), keccak256("1"), uint256(4711), address(settlement))
        );
        require(settlement.domainSeparator() == expected && before != expected, "another chain's domain");
    }

    function test_snp_evidence_registers_one_key_until_its_end_and_while_its_image_is_allowed() public {
        registry.setRegistrar(address(this));
        Appraisal memory a = Appraisal(enclave, POLICY, provider, "report", uint40(NOW + 100));
        registry.registerVerified(a, IMAGE);
        equal(registry.requireLive(enclave, POLICY, provider, 2), 2);
        require(registry.enclaveOf(enclave).measurement == IMAGE, "no measurement");
        require(registry.keyOfReport("report") == enclave, "report not taken down");
        fails(EVIDENCE_USED.selector);
        registry.registerVerified(a, IMAGE);
        _allowsImage = false;
        fails(ENCLAVE_MEASUREMENT.selector);
        registry.requireLive(enclave, POLICY, provider, 1);
        _allowsImage = true;
        later(100);
        equal(registry.requireLive(enclave, POLICY, provider, 2), 2);
        later(1);
        fails(ENCLAVE_EXPIRED.selector);
        registry.requireLive(enclave, POLICY, provider, 1);
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
        equal(settlement.challengeOf(idOf(t), 0).deadline, vm.getBlockTimestamp() + 30 + 2 * 10 + 10);
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

    function test_a_seal_alone_is_judged_by_the_registration_of_its_key() public {
        bytes32 statement = keccak256("statement");
        bytes memory seal = abi.encodePacked(tee.SELECTOR(), sign(enclaveSecret, statement));
        fails(ENCLAVE_UNKNOWN.selector);
        tee.verify(seal, statement);
        register(type(uint40).max);
        tee.verify(seal, statement);
        revoke();
        fails(ENCLAVE_REVOKED.selector);
        tee.verify(seal, statement);
        bytes4 selector = tee.SELECTOR();
        fails(SIGNATURE.selector);
        tee.verify(abi.encodePacked(selector, new bytes(65)), statement);
    }

    function test_too_little_gas_is_no_verdict_on_a_key() public {
        register(type(uint40).max);
        uint256 answered;
        for (uint256 gas_ = 2_000; gas_ < 60_000; gas_ += 250) {
            try tee.isLive{gas: gas_}(enclave, POLICY, provider, 1) returns (bool live) {
                require(live, "a live key called dead");
                ++answered;
            } catch {}
        }
        require(answered != 0, "no call came through");
    }

    function test_all_attestors_together_may_be_the_quorum() public {
        deploy("EnclaveRegistry", abi.encode(address(this), attestors, 9));
        vm.expectRevert();
        deploy("EnclaveRegistry", abi.encode(address(this), attestors, 10));
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
