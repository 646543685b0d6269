// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BorderPaths} from "./BorderPaths.sol";
import {Expectations} from "./Expectations.sol";
import {BlockRandao} from "../src/BlockRandao.sol";
import {Delivery} from "../src/Delivery.sol";
import {Duties, Duty} from "../src/Duties.sol";
import {Parameters} from "../src/JobStore.sol";
import {Roles} from "../src/Roles.sol";
import {Settlement} from "../src/Settlement.sol";
import {VerifierRouter} from "../src/VerifierRouter.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {IKeys} from "../src/interfaces/IKeys.sol";
import {Floors, ITermsRules} from "../src/interfaces/ITermsRules.sol";
import {ISnpRegistry} from "../src/interfaces/ISnpRegistry.sol";
import "../src/Types.sol";
import {TestSnpVerifier} from "./TestSnpVerifier.sol";
import {TestStepVerifier} from "./TestStepVerifier.sol";
import {TestToken} from "./TestToken.sol";
import {vm} from "./Vm.sol";

/// One deployment, its people, and a job of four segments whose terms each test changes as it needs.
abstract contract Fixture is BorderPaths, Expectations {
    bytes4 internal constant STEP = bytes4(keccak256("test/step/1"));
    bytes4 internal constant STEP2 = bytes4(keccak256("test/step/2"));
    uint256 internal constant CLIENT_KEY = 0xC11;
    uint256 internal constant PROVIDER_KEY = 0x9999;
    uint256 internal constant BROKER_KEY = 0xB0B;
    bytes32 internal constant POLICY = keccak256("policy");
    bytes32 internal constant SEED_CLIENT = keccak256("client's seed");
    bytes32 internal constant SEED_PROVIDER = keccak256("provider's seed");
    bytes32 internal constant REVEAL_KEY = keccak256("reveal key");
    bytes32 internal constant CIPHERTEXT = keccak256("ciphertext digest");
    uint256 internal constant NOW = 1_000_000;

    address internal client = vm.addr(CLIENT_KEY);
    address internal provider = vm.addr(PROVIDER_KEY);
    address internal broker = vm.addr(BROKER_KEY);
    uint256 internal enclaveSecret = 0xE4C;
    address internal enclave = vm.addr(enclaveSecret);
    address internal challenger = address(0xC4A1);
    address internal treasury = address(0x7EA5);
    address internal guardian = address(0x60A4);
    address internal revoker = address(0x4E70);
    Roles internal roles;
    VerifierRouter internal router;
    TestSnpVerifier internal snp;
    ISnpRegistry internal registry;
    IKeys internal keys;
    Settlement internal settlement;
    ITermsRules internal rules;
    BlockRandao internal randao;
    Duties internal duties;
    Delivery internal delivery;
    TestStepVerifier internal steps;
    TestToken internal token;
    uint256[] internal attestorSecrets; // in the order of their accounts
    address[] internal attestors;
    uint256 private _salt;

    function setUp() public virtual {
        vm.warp(NOW);
        vm.roll(1000);
        token = TestToken(deploy("TestToken", ""));
        address[] memory tokens = new address[](2);
        tokens[1] = address(token);
        roles = Roles(deploy("Roles", abi.encode(address(this), guardian, treasury, revoker, tokens)));
        router = VerifierRouter(deploy("VerifierRouter", abi.encode(roles)));
        snp = TestSnpVerifier(deploy("TestSnpVerifier", abi.encode(roles)));
        registry = ISnpRegistry(deploy("SnpRegistry", abi.encode(snp)));
        keys = IKeys(deploy("Keys", abi.encode(registry)));
        steps = TestStepVerifier(deploy("TestStepVerifier", ""));
        router.add(keys.SELECTOR(), steps_(address(keys)));
        router.add(STEP, steps);
        router.add(STEP2, steps);
        randao = BlockRandao(deploy("BlockRandao", ""));
        rules = ITermsRules(deploy("TermsRules", abi.encode(router, randao, Floors(1, 0, 1))));
        duties = Duties(deploy("Duties", abi.encode(router, randao)));
        delivery = Delivery(deploy("Delivery", ""));
        settlement =
            Settlement(deploy("Settlement", abi.encode(Parameters(roles, router, rules, duties, delivery))));
        _testRandao();
        _nameAttestors();
        address[3] memory people = [client, provider, challenger];
        for (uint256 i = 0; i < people.length; ++i) {
            vm.deal(people[i], 1_000_000 ether);
            token.mint(people[i], 1_000_000 ether);
            vm.prank(people[i]);
            token.approve(address(settlement), type(uint256).max);
        }
    }

    /// By artefact name: a test that held the contracts' code would compile all of it again.
    function deploy(string memory name, bytes memory args) internal returns (address) {
        return deploy(name, string.concat(name, ".sol"), args);
    }

    function deploy(string memory name, string memory file, bytes memory args) internal returns (address) {
        return vm.deployCode(string.concat(file, ":", name), args);
    }

    function steps_(address verifier) internal pure returns (TestStepVerifier) {
        return TestStepVerifier(verifier);
    }

    /// A header with this number, of two bytes, and mix; its other fields say nothing.
    function headerOf(uint256 number, bytes32 mix) internal pure returns (bytes memory) {
        bytes memory word = abi.encodePacked(bytes1(0xa0), bytes32(0));
        bytes memory body = abi.encodePacked(word, word, bytes1(0x94), bytes20(0), word, word, word);
        body = abi.encodePacked(body, bytes3(0xb90100), new bytes(256), bytes1(0x80), bytes1(0x82), uint16(number));
        body = abi.encodePacked(body, bytes1(0x80), bytes1(0x80), bytes1(0x80), bytes1(0x80), bytes1(0xa0), mix);
        body = abi.encodePacked(body, bytes1(0x88), bytes8(0));
        return abi.encodePacked(bytes1(0xf9), uint16(body.length), body);
    }

    function _testRandao() private {
        uint256 number = vm.getBlockNumber() - 1;
        bytes memory header = headerOf(number, keccak256("mix"));
        vm.setBlockhash(number, keccak256(header));
        randao.test(number, header);
    }

    function _nameAttestors() private {
        delete attestorSecrets;
        delete attestors;
        for (uint256 i = 0; i < 3; ++i) attestorSecrets.push(0xA000 + i);
        for (uint256 i = 1; i < 3; ++i) {
            for (uint256 k = i; k > 0 && vm.addr(attestorSecrets[k - 1]) > vm.addr(attestorSecrets[k]); --k) {
                (attestorSecrets[k - 1], attestorSecrets[k]) = (attestorSecrets[k], attestorSecrets[k - 1]);
            }
        }
        for (uint256 i = 0; i < 3; ++i) attestors.push(vm.addr(attestorSecrets[i]));
    }

    function baseTerms(uint16 mode) internal returns (Terms memory t) {
        t.client = client;
        t.provider = provider;
        t.keyBroker = broker;
        t.token = address(token);
        t.specDigest = keccak256(abi.encode("spec", ++_salt));
        t.initialWeights = keccak256("genesis");
        t.policy = POLICY;
        t.attestors = attestors;
        if (mode & MODE_TEE != 0) t.needed = 1;
        t.teeSelector = keys.SELECTOR();
        t.price = 90 ether;
        t.stake = 60 ether;
        t.liveness = 6 ether;
        t.bond = 10 ether;
        t.bondFee = 1 ether;
        t.publishFee = 3 ether;
        t.failShareBps = 5000;
        t.holdbackBps = mode & MODE_REVEAL != 0 ? 10_000 : 1000;
        t.segments = 4;
        (t.unitSegments, t.parts) = (1, 1);
        t.mode = mode;
        t.seedCommitClient = keccak256(abi.encode(SEED_CLIENT));
        t.acceptBy = uint40(vm.getBlockTimestamp() + 100);
        t.windows.start = 60;
        t.windows.compute = 600;
        t.windows.challenge = 200;
        bool sealedOnly = mode & ~(MODE_TEE | MODE_REVEAL | MODE_EARLY) == 0 && mode & MODE_REVEAL != 0;
        if (!sealedOnly) disputable(t);
        if (mode & MODE_SAMPLE != 0) {
            t.samples = 2;
            t.windows.draw = 50;
            t.windows.drawBlocks = 32;
        }
        if (mode & MODE_REVEAL != 0) (t.windows.reveal, t.windows.ack) = (100, 50);
    }

    function disputable(Terms memory t) internal pure {
        t.dutySelectors = new bytes4[](1);
        t.dutySelectors[0] = STEP;
        t.windows.prove = 30;
        t.windows.provePer = 10;
    }

    function idOf(Terms memory t) internal pure returns (bytes32) {
        return keccak256(abi.encode(t));
    }

    function open(Terms memory t) internal {
        vm.prank(t.client);
        settlement.open{value: t.token == address(0) ? t.price : 0}(t);
    }

    function accept(Terms memory t) internal {
        if (t.stake != 0) {
            vm.prank(provider);
            settlement.depositStake{value: t.token == address(0) ? t.stake : 0}(t.token, t.stake);
        }
        bytes memory award;
        if (t.provider == address(0)) award = sign(CLIENT_KEY, digest(Statements.award(idOf(t), provider)));
        vm.prank(provider);
        settlement.accept(t, keccak256(abi.encode(SEED_PROVIDER)), award);
    }

    function start(Terms memory t) internal {
        Grant memory g = grant(t, t.mode & MODE_TEE != 0 ? enclave : address(0));
        Approval[] memory a = approvals(t, g);
        vm.prank(provider);
        settlement.start(t, g, a);
    }

    /// A further key of a job that runs.
    function bind(Terms memory t, address key) internal {
        Grant memory g = grant(t, key);
        Approval[] memory a = approvals(t, g);
        vm.prank(provider);
        settlement.bind(t, g, a);
    }

    function grant(Terms memory t, address key) internal view returns (Grant memory) {
        return grantBy(BROKER_KEY, t, key, provider);
    }

    function grantBy(uint256 secret, Terms memory t, address key, address who) internal view returns (Grant memory g) {
        g.dataset = keccak256("data set");
        if (key != address(0)) g.session = keccak256(abi.encode("session", key));
        g.key = key;
        g.evidence = keccak256(abi.encode("evidence", key));
        g.grant = keccak256("sealed key");
        g.nonce = keccak256("nonce");
        g.grantedAt = uint40(vm.getBlockTimestamp());
        g.notAfter = uint40(vm.getBlockTimestamp() + 1800);
        g.signature = sign(secret, digest(Statements.release(idOf(t), who, t.policy, g)));
    }

    function approvals(Terms memory t, Grant memory g) internal view returns (Approval[] memory out) {
        out = new Approval[](g.key == address(0) ? 0 : t.needed);
        for (uint256 i = 0; i < out.length; ++i) out[i] = approval(attestorSecrets[i], t, g);
    }

    function approval(uint256 secret, Terms memory t, Grant memory g) internal view returns (Approval memory a) {
        a.evidence = keccak256(abi.encode("evidence for", secret));
        a.notAfter = uint40(vm.getBlockTimestamp() + 1800);
        bytes32 hash =
            Statements.appraisal(idOf(t), provider, g.session, g.key, t.policy, a.evidence, a.notAfter);
        a.signature = sign(secret, digest(hash));
    }

    function started(Terms memory t) internal {
        open(t);
        accept(t);
        start(t);
    }

    /// Borders of a true run, except that segment `wrong` is false; wrong ≥ segments: all true.
    function borders(Terms memory t, uint256 upTo, uint256 wrong) internal view returns (bytes32[] memory out) {
        out = new bytes32[](upTo + 1);
        out[0] = t.initialWeights;
        for (uint256 i = 0; i < upTo; ++i) {
            out[i + 1] = i == wrong ? keccak256(abi.encode("false", i)) : steps.next(out[i]);
        }
    }

    function unsealed(Terms memory t, bytes32[] memory b, uint8 outcome) internal pure returns (Run memory r) {
        r.outcome = outcome;
        r.borders = b;
        if (t.mode & MODE_SAMPLE != 0) r.seedProvider = SEED_PROVIDER;
    }

    function sealedRun(Terms memory t, bytes32[] memory b, uint8 outcome) internal view returns (Run memory r) {
        r = unsealed(t, b, outcome);
        if (t.mode & MODE_REVEAL != 0) {
            r.delivery = keccak256(abi.encode(CIPHERTEXT, keccak256(abi.encode(REVEAL_KEY))));
        }
        r.keys = only(enclave);
        r.seal = runSeal(t, r);
    }

    function sealedDelivery(Terms memory t, bytes32[] memory b, bytes32 sealed_) internal view returns (Run memory r) {
        r = unsealed(t, b, 0);
        r.delivery = sealed_;
        r.keys = only(enclave);
        r.seal = runSeal(t, r);
    }

    /// By the enclave of the day, alone behind all borders.
    function runSeal(Terms memory t, Run memory r) internal view returns (bytes memory) {
        return sealBy(enclaveSecret, t, r);
    }

    function sealBy(uint256 secret, Terms memory t, Run memory r) internal view returns (bytes memory) {
        uint256 upTo = r.borders.length - 1;
        bytes32 statement = Statements.run(
            idOf(t), upTo, r.outcome, rootOf(r.borders), r.borders[upTo], r.delivery, Statements.keysOf(r.keys)
        );
        return abi.encodePacked(t.teeSelector, sign(secret, digest(statement)));
    }

    function only(address key) internal pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = key;
    }

    function commit(Terms memory t, Run memory r) internal {
        vm.prank(provider);
        settlement.commit(t, r);
    }

    function committed(Terms memory t, uint256 wrong) internal returns (bytes32[] memory b) {
        started(t);
        b = borders(t, t.segments, wrong);
        commit(t, t.mode & MODE_TEE != 0 ? sealedRun(t, b, 0) : unsealed(t, b, 0));
    }

    function challenge(Terms memory t, uint256 segment) internal {
        vm.prank(challenger);
        settlement.challenge{value: t.token == address(0) ? t.bond : 0}(t, segment);
    }

    function discharge(Terms memory t, bytes32[] memory b, uint256 segment) internal {
        settlement.discharge(t, segment, transition(b, segment), stepSeal(t, segment, b[segment], b[segment + 1]));
    }

    function transition(bytes32[] memory b, uint256 i) internal pure returns (Transition memory) {
        return Transition(b[i], b[i + 1], pathOf(b, i), pathOf(b, i + 1));
    }

    function stepSeal(Terms memory t, uint256 i, bytes32 before, bytes32 afterwards)
        internal
        view
        returns (bytes memory)
    {
        return abi.encodePacked(
            t.dutySelectors.length == 0 ? STEP : t.dutySelectors[0],
            abi.encode(TestStepVerifier.Statement(Statements.domain(address(settlement)), idOf(t), i, before, afterwards))
        );
    }

    /// The job's quorum ends the enclave's key.
    function revoke(Terms memory t) internal {
        revokeKey(t, enclave);
    }

    function revokeKey(Terms memory t, address key) internal {
        bytes[] memory s = quorum(Statements.revocation(idOf(t), key, "extracted"), t.needed == 0 ? 1 : t.needed);
        if (t.needed == 0) s[0] = sign(BROKER_KEY, digest(Statements.revocation(idOf(t), key, "extracted")));
        keys.revoke(address(settlement), t, key, "extracted", s);
    }

    /// The first `count` attestors.
    function quorum(bytes32 structHash, uint256 count) internal view returns (bytes[] memory signatures) {
        signatures = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) signatures[i] = sign(attestorSecrets[i], digest(structHash));
    }

    function digest(bytes32 structHash) internal view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", Statements.domain(address(settlement)), structHash));
    }

    function sign(uint256 key, bytes32 hash) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, hash);
        return abi.encodePacked(r, s, v);
    }

    function credit(address who, Terms memory t) internal view returns (uint256) {
        return settlement.credits(who, t.token);
    }

    function stateOf(Terms memory t) internal view returns (State) {
        return settlement.jobOf(idOf(t)).state;
    }

    /// Segment `a` of a drawn sample: contracts/SPEC.md §8.
    function sampleOf(Terms memory t, uint256 a) internal view returns (uint256) {
        Duty memory d = dutyOf(t);
        return uint256(keccak256(abi.encode(d.seed, a))) % d.upTo;
    }

    function dutyOf(Terms memory t) internal view returns (Duty memory) {
        return duties.dutyOf(address(settlement), idOf(t));
    }

    function isProved(Terms memory t, uint256 segment) internal view returns (bool) {
        return duties.isProved(address(settlement), idOf(t), segment);
    }

    function challengeOf(Terms memory t, uint256 segment) internal view returns (Challenge memory) {
        return duties.challengeOf(address(settlement), idOf(t), segment);
    }

    function later(uint256 secs) internal {
        vm.warp(vm.getBlockTimestamp() + secs);
    }

    function isState(Terms memory t, State s) internal view {
        equal(uint256(stateOf(t)), uint256(s));
    }
}
