// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../src/libraries/Statements.sol";
import {SnpBinding, SnpPolicy} from "../src/interfaces/ISnpRegistry.sol";
import {SnpClaims} from "../src/interfaces/ISnpVerifier.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {QuorumReexecution} from "../src/verifiers/QuorumReexecution.sol";
import {vm} from "./Vm.sol";

/// Attacks on who may seal that once ran, and what ends a key: contracts/SPEC.md §10.
contract FindingsKeysTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    bytes32 private constant IMAGE = keccak256("image");
    uint16[4] private _sealed = [MODE_TEE, MODE_TEE | MODE_REVEAL, MODE_TEE | MODE_FULL, MODE_TEE | MODE_SAMPLE];

    function _policy() internal view returns (SnpPolicy memory p) {
        p.owner = client;
        (p.validForSeconds, p.nonceBlocks) = (1000, 64);
    }

    function _allow(SnpPolicy memory p) internal {
        vm.prank(p.owner);
        registry.setMeasurement(p, IMAGE, true);
    }

    function _claims(SnpBinding memory b, bytes memory report) internal view returns (SnpClaims memory c) {
        c.product = 1;
        c.measurement = IMAGE;
        c.notAfter = type(uint40).max;
        (c.chip, c.serial, c.issuer) = (keccak256("chip"), keccak256("serial"), keccak256("issuer"));
        c.id = keccak256(report);
        (c.reportDataHigh, c.reportDataLow) =
            snp.dataOf(b, address(registry), keccak256(abi.encode("hash of", b.nonceBlock)));
    }

    function _binding(address key) internal returns (SnpBinding memory b) {
        (b.settlementKey, b.provider) = (key, provider);
        b.nonceBlock = vm.getBlockNumber() - 1;
        vm.setBlockhash(b.nonceBlock, keccak256(abi.encode("hash of", b.nonceBlock)));
    }

    function _register(SnpPolicy memory p, address key, bytes memory report) internal {
        SnpBinding memory b = _binding(key);
        snp.tell(report, _claims(b, report));
        registry.register(p, b, report, "");
    }

    /// A job that demands a registration under `p`.
    function _snpTerms(uint16 mode, SnpPolicy memory p) internal returns (Terms memory t) {
        t = baseTerms(mode);
        t.snpPolicy = registry.policyId(p);
    }

    /// Client, policy owner and attestors do what they can after the start: the provider's seal counts, or it leaves free.
    function test_S_H2_nothing_but_a_revocation_ends_a_bound_key() public {
        for (uint256 m = 0; m < _sealed.length; ++m) {
            SnpPolicy memory p = _policy();
            p.salt = bytes32(m);
            _allow(p);
            _register(p, enclave, abi.encode("report", m));
            Terms memory t = _snpTerms(_sealed[m], p);
            started(t);
            vm.prank(client);
            registry.setMeasurement(p, IMAGE, false);
            later(400); // Release and Appraisal are still good, then not
            commit(t, sealedRun(t, borders(t, 4, NONE), 0));
            fails(KEY_LIVE.selector);
            settlement.unseal(t, enclave);
        }
    }

    function test_S_H2_a_provider_whose_broker_falls_silent_leaves_with_its_stake() public {
        for (uint256 m = 0; m < _sealed.length; ++m) {
            Terms memory t = baseTerms(_sealed[m]);
            started(t);
            revoke(t);
            Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
            fails(KEY_REVOKED.selector);
            vm.prank(provider);
            settlement.commit(t, r);
            later(600);
            fails(CALLER.selector);
            settlement.resign(t);
            (uint128 before,) = settlement.stakes(provider, t.token);
            vm.prank(provider);
            settlement.resign(t);
            isState(t, State.Resigned);
            (uint128 free, uint128 locked) = settlement.stakes(provider, t.token);
            equal(free, before + t.stake);
            equal(locked, 0);
        }
    }

    function test_S_H2_who_resigns_too_late_has_been_silent() public {
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        later(601);
        fails(TOO_LATE.selector);
        vm.prank(provider);
        settlement.resign(t);
        settlement.abandon(t);
        equal(credit(client, t), t.price + t.liveness);
    }

    /// Registration, Release and Appraisals end inside the window: the seal stands.
    function test_S_M1_time_takes_no_seal_away() public {
        SnpPolicy memory p = _policy();
        p.validForSeconds = 100;
        _allow(p);
        _register(p, enclave, "report");
        for (uint256 m = 0; m < _sealed.length; ++m) {
            Terms memory t = _snpTerms(_sealed[m], p);
            if (m != 0) _register(p, enclave, abi.encode("report", m));
            t.windows.compute = 100_000;
            started(t);
            later(10_000);
            commit(t, sealedRun(t, borders(t, 4, NONE), 0));
            later(200);
            fails(KEY_LIVE.selector);
            vm.prank(challenger);
            settlement.unseal(t, enclave);
        }
    }

    /// What is proved after the seal was taken away is paid; what is not costs the price and no stake.
    function test_S_M1_losing_the_seal_costs_no_stake() public {
        uint16[3] memory modes = [MODE_TEE, MODE_TEE | MODE_SAMPLE, MODE_TEE | MODE_OPTIMISTIC];
        for (uint256 m = 0; m < modes.length; ++m) {
            Terms memory t = baseTerms(modes[m]);
            committed(t, NONE);
            revoke(t);
            settlement.unseal(t, enclave);
            vm.warp(uint256(dutyOf(t).setDeadline) + 1);
            uint256 before = credit(client, t);
            settlement.lapse(t, 0, 0);
            isState(t, State.Unsealed);
            equal(credit(client, t) - before, t.price);
            (, uint128 locked) = settlement.stakes(provider, t.token);
            equal(locked, 0);
            t = baseTerms(modes[m]);
            bytes32[] memory b = committed(t, NONE);
            revoke(t);
            settlement.unseal(t, enclave);
            for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
            later(201);
            settlement.finalize(t, 0, 0);
            isState(t, State.Settled);
        }
    }

    /// An open challenge is lost whether or not the key is revoked.
    function test_S_M1_nobody_escapes_a_challenge_by_losing_the_seal() public {
        for (uint256 m = 0; m < 3; ++m) {
            Terms memory t = baseTerms([MODE_TEE, MODE_TEE | MODE_REVEAL | MODE_OPTIMISTIC, MODE_TEE | MODE_SAMPLE][m]);
            committed(t, 1);
            challenge(t, 1);
            revoke(t);
            settlement.unseal(t, enclave);
            fails(DUTY_OPEN.selector);
            settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
            vm.warp(uint256(challengeOf(t, 1).deadline) + 1);
            settlement.lapse(t, 1, 0);
            isState(t, State.Slashed);
        }
    }

    /// Broker and attestor of job A, or the thief of both keys, in job B, which names others.
    function test_S_H4_nobody_speaks_in_a_job_that_does_not_name_it() public {
        for (uint256 m = 0; m < _sealed.length; ++m) {
            Terms memory t = baseTerms(_sealed[m]);
            open(t);
            accept(t);
            Grant memory g = grantBy(0xBAD, t, enclave, provider);
            Approval[] memory a = approvals(t, g);
            _startRefused(t, g, a, SIGNATURE.selector);
            g = grant(t, enclave);
            a = approvals(t, g);
            a[0] = approval(0xBAD, t, g);
            _startRefused(t, g, a, QUORUM_SIGNER.selector);
            _startRefused(t, g, new Approval[](0), APPROVALS.selector);
            bytes[] memory s = new bytes[](1);
            s[0] = sign(0xBAD, digest(Statements.revocation(idOf(t), enclave, "reason")));
            fails(QUORUM_SIGNER.selector);
            keys.revoke(address(settlement), t, enclave, "reason", s);
            start(t);
            Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
            r.keys = only(vm.addr(0xBAD));
            r.seal = sealBy(0xBAD, t, r);
            fails(KEY_UNBOUND.selector);
            vm.prank(provider);
            settlement.commit(t, r);
            r.keys = only(enclave);
            r.seal = sealBy(0xBAD, t, r);
            fails(SEAL_SIGNER.selector);
            vm.prank(provider);
            settlement.commit(t, r);
        }
    }

    function _startRefused(Terms memory t, Grant memory g, Approval[] memory a, bytes4 code) private {
        fails(code);
        vm.prank(provider);
        settlement.start(t, g, a);
    }

    function test_S_H4_a_quorum_is_as_many_distinct_attestors_as_the_terms_need() public {
        Terms memory t = baseTerms(MODE_TEE);
        t.needed = 2;
        open(t);
        accept(t);
        Grant memory g = grant(t, enclave);
        Approval[] memory a = approvals(t, g);
        (a[0], a[1]) = (a[1], a[0]);
        _startRefused(t, g, a, QUORUM_ORDER.selector);
        a[1] = a[0];
        _startRefused(t, g, a, QUORUM_ORDER.selector);
        a = approvals(t, g);
        a[1].evidence = "what it did not sign";
        _startRefused(t, g, a, QUORUM_SIGNER.selector);
        a = approvals(t, g);
        Approval[] memory more = new Approval[](3);
        (more[0], more[1], more[2]) = (a[0], a[1], approval(attestorSecrets[2], t, g));
        _startRefused(t, g, more, APPROVALS.selector);
        a[1].notAfter = uint40(vm.getBlockTimestamp() - 1);
        _startRefused(t, g, a, GRANT_EXPIRED.selector);
        a = approvals(t, g);
        a[1] = approval(attestorSecrets[2], t, g);
        vm.prank(provider);
        settlement.start(t, g, a);
        bytes[] memory one = quorum(Statements.revocation(idOf(t), enclave, "r"), 1);
        fails(QUORUM_SHORT.selector);
        keys.revoke(address(settlement), t, enclave, "r", one);
        bytes[] memory two = quorum(Statements.revocation(idOf(t), enclave, "r"), 2);
        two[0] = sign(BROKER_KEY, digest(Statements.revocation(idOf(t), enclave, "r")));
        keys.revoke(address(settlement), t, enclave, "r", two);
    }

    function test_S_H4_a_release_says_what_job_provider_session_and_key_it_is_for() public {
        Terms memory t = baseTerms(MODE_TEE);
        open(t);
        accept(t);
        Terms memory other = baseTerms(MODE_TEE);
        Grant memory g = grant(other, enclave);
        Approval[] memory a = approvals(t, g);
        _startRefused(t, g, a, SIGNATURE.selector);
        g = grantBy(BROKER_KEY, t, enclave, challenger);
        _startRefused(t, g, a, SIGNATURE.selector);
        g = grant(t, enclave);
        a = approvals(t, g);
        g.key = challenger;
        _startRefused(t, g, a, SIGNATURE.selector);
        g = grant(t, enclave);
        g.grant = "another sealed key";
        _startRefused(t, g, a, SIGNATURE.selector);
        g = grant(t, enclave);
        vm.warp(uint256(g.notAfter) - 1790 + 1);
        g = grant(t, enclave);
        fails(CALLER.selector);
        settlement.start(t, g, a);
        vm.prank(provider);
        settlement.start(t, g, a);
        Grant memory late = grant(t, challenger);
        Approval[] memory lateApprovals = approvals(t, late);
        vm.prank(provider);
        fails(KEY_BOUND.selector);
        settlement.bind(t, g, a);
        vm.warp(uint256(late.notAfter) + 1);
        fails(GRANT_EXPIRED.selector);
        vm.prank(provider);
        settlement.bind(t, late, lateApprovals);
    }

    /// A provider's stake of one instant stands behind nothing: there is no cap to fool, a key seals its own job only.
    function test_S_M3_a_key_counts_only_where_the_jobs_broker_released_to_it() public {
        Terms memory first = baseTerms(MODE_TEE);
        committed(first, NONE);
        for (uint256 m = 0; m < _sealed.length; ++m) {
            Terms memory t = baseTerms(_sealed[m]);
            open(t);
            accept(t);
            address fresh = vm.addr(0xF0 + m);
            Grant memory g = grant(t, fresh);
            Approval[] memory a = approvals(t, g);
            vm.prank(provider);
            settlement.start(t, g, a);
            Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
            fails(KEY_UNBOUND.selector);
            vm.prank(provider);
            settlement.commit(t, r);
        }
    }

    /// Every verifier that answers isKeys is refused as a judge of segments, in every mode; and the reverse.
    function test_S_M4_what_judges_keys_proves_no_segment() public {
        uint16[5] memory modes = [MODE_FULL, MODE_SAMPLE, MODE_OPTIMISTIC, MODE_TEE, MODE_TEE | MODE_FULL];
        bytes4 second = 0x01020304;
        router.add(second, steps_(deploy("Keys", abi.encode(registry))));
        for (uint256 m = 0; m < modes.length; ++m) {
            Terms memory t = baseTerms(modes[m]);
            t.dutySelectors = new bytes4[](2);
            (t.dutySelectors[0], t.dutySelectors[1]) = (STEP, t.teeSelector);
            fails(TERMS_KIND.selector);
            rules.check(t);
            t.dutySelectors[1] = second;
            fails(TERMS_KIND.selector);
            rules.check(t);
            t.dutySelectors[1] = STEP2;
            rules.check(t);
            t.teeSelector = STEP;
            fails(TERMS_KIND.selector);
            rules.check(t);
        }
    }

    function test_S_M5_a_strangers_policy_takes_no_evidence_from_anybody() public {
        SnpPolicy memory theirs = _policy();
        theirs.owner = challenger;
        _allow(theirs);
        _register(theirs, enclave, "report");
        SnpPolicy memory p = _policy();
        _allow(p);
        _register(p, enclave, "report");
        registry.requireLive(enclave, registry.policyId(p), provider);
        Terms memory t = _snpTerms(MODE_TEE, p);
        started(t);
    }

    /// Chip, serial, issuer and product, each alone; at bind, at commit, and in the window.
    function test_S_M6_what_is_condemned_ends_bound_keys() public {
        bytes32[4] memory what =
            [keccak256("chip"), keccak256("serial"), keccak256("issuer"), bytes32(uint256(1))];
        for (uint256 i = 0; i < what.length; ++i) {
            setUp();
            SnpPolicy memory p = _policy();
            _allow(p);
            _register(p, enclave, "report");
            Terms memory bound = _snpTerms(MODE_TEE | MODE_REVEAL, p);
            Terms memory window = _snpTerms(MODE_TEE, p);
            Terms memory waiting = _snpTerms(MODE_TEE, p);
            started(bound);
            bytes32[] memory b = committed(window, NONE);
            open(waiting);
            accept(waiting);
            fails(CALLER.selector);
            snp.condemn(what[i], "advisory");
            vm.prank(revoker);
            snp.condemn(what[i], "advisory");
            Grant memory g = grant(waiting, enclave);
            Approval[] memory a = approvals(waiting, g);
            _startRefused(waiting, g, a, SNP_REVOKED.selector);
            Run memory r = sealedRun(bound, b, 0);
            fails(KEY_CONDEMNED.selector);
            vm.prank(provider);
            settlement.commit(bound, r);
            settlement.unseal(window, enclave);
            bytes32 id = registry.policyId(p);
            fails(SNP_REVOKED.selector);
            registry.requireLive(enclave, id, provider);
        }
    }

    function test_S_M8_one_report_registers_once_under_each_policy() public {
        SnpPolicy memory p = _policy();
        _allow(p);
        _register(p, enclave, "report");
        SnpBinding memory b = _binding(enclave);
        SnpClaims memory twin = _claims(b, "report");
        snp.tell("report with another signature", twin); // the same signed bytes
        fails(EVIDENCE_USED.selector);
        registry.register(p, b, "report with another signature", "");
        SnpClaims memory old = _claims(b, "old");
        snp.tell("old", old);
        vm.roll(b.nonceBlock + 64);
        registry.register(p, b, "old", "");
        SnpClaims memory older = _claims(b, "older");
        snp.tell("older", older);
        vm.roll(b.nonceBlock + 65);
        fails(SNP_NONCE.selector);
        registry.register(p, b, "older", "");
    }

    function test_S_M8_a_vlek_needs_a_policy_that_takes_it() public {
        SnpPolicy memory p = _policy();
        _allow(p);
        SnpBinding memory b = _binding(enclave);
        SnpClaims memory c = _claims(b, "vlek");
        (c.vlek, c.chip) = (true, 0);
        snp.tell("vlek", c);
        fails(SNP_VLEK.selector);
        registry.register(p, b, "vlek", "");
        p.allowVlek = true;
        _allow(p);
        registry.register(p, b, "vlek", "");
    }

    function test_S_L10_one_machine_is_one_voice() public {
        SnpPolicy memory p = _policy();
        _allow(p);
        QuorumReexecution q = QuorumReexecution(
            deploy("QuorumReexecution", abi.encode(registry, registry.policyId(p), uint256(2)))
        );
        (uint256 low, uint256 high) = vm.addr(0xE1) < vm.addr(0xE2) ? (0xE1, 0xE2) : (0xE2, 0xE1);
        for (uint256 i = 0; i < 2; ++i) {
            address key = vm.addr(i == 0 ? low : high);
            SnpBinding memory b = _binding(key);
            b.provider = address(uint160(0x900 + i)); // two names, one chip
            SnpClaims memory c = _claims(b, abi.encode("machine", i));
            snp.tell(abi.encode("machine", i), c);
            registry.register(p, b, abi.encode("machine", i), "");
        }
        bytes32 statement = keccak256("statement");
        bytes memory seal = abi.encodePacked(q.SELECTOR(), sign(low, statement), sign(high, statement));
        fails(REEXECUTION_CHIP.selector);
        q.verify(seal, statement);
        SnpBinding memory other = _binding(vm.addr(high));
        SnpClaims memory apart = _claims(other, "another machine");
        apart.chip = keccak256("another chip");
        snp.tell("another machine", apart);
        registry.register(p, other, "another machine", "");
        q.verify(seal, statement);
    }

    function test_S_L11_an_snp_policy_demands_bits_versions_and_owners() public {
        SnpPolicy memory p = _policy();
        (p.guestSet, p.guestClear, p.platformSet, p.platformClear) = (1 << 20, 1 << 16, 1 << 5, 1 << 0);
        (p.guestSvn, p.hostData, p.idKey) = (3, keccak256("host data"), keccak256("id key"));
        _allow(p);
        SnpBinding memory b = _binding(enclave);
        SnpClaims memory c = _claims(b, "r");
        (c.guestPolicy, c.platformInfo, c.guestSvn) = (1 << 20, 1 << 5, 3);
        (c.hostData, c.idKey) = (p.hostData, p.idKey);
        bytes4[7] memory codes = [
            SNP_GUEST_POLICY.selector, SNP_GUEST_POLICY.selector, SNP_PLATFORM_INFO.selector,
            SNP_PLATFORM_INFO.selector, SNP_GUEST_SVN.selector, SNP_HOST_DATA.selector, SNP_ID_KEY.selector
        ];
        for (uint256 i = 0; i < 7; ++i) {
            SnpClaims memory bad = abi.decode(abi.encode(c), (SnpClaims));
            if (i == 0) bad.guestPolicy = 0;
            else if (i == 1) bad.guestPolicy |= 1 << 16;
            else if (i == 2) bad.platformInfo = 0;
            else if (i == 3) bad.platformInfo |= 1;
            else if (i == 4) bad.guestSvn = 2;
            else if (i == 5) bad.hostData = 0;
            else bad.idKey = 0;
            snp.tell("r", bad);
            fails(codes[i]);
            registry.register(p, b, "r", "");
        }
        snp.tell("r", c);
        registry.register(p, b, "r", "");
    }
}
