// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BlockRandao} from "../src/BlockRandao.sol";
import {Transition} from "../src/Duties.sol";
import {Appraisal, EnclaveRegistry} from "../src/EnclaveRegistry.sol";
import {Run} from "../src/Running.sol";
import {Parameters, Settlement} from "../src/Settlement.sol";
import {TermsRules} from "../src/TermsRules.sol";
import {VerifierRouter} from "../src/VerifierRouter.sol";
import {BorderTree} from "../src/libraries/BorderTree.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {TeeVerifier} from "../src/verifiers/TeeVerifier.sol";
import "../src/Types.sol";
import {TestStepVerifier} from "./TestStepVerifier.sol";
import {TestToken} from "./TestToken.sol";
import {vm} from "./Vm.sol";

/// One deployment, its people, and a job of four segments whose terms each test changes as it needs.
abstract contract Fixture {
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

    VerifierRouter internal router;
    EnclaveRegistry internal registry;
    TeeVerifier internal tee;
    Settlement internal settlement;
    TermsRules internal rules;
    BlockRandao internal randao;
    TestStepVerifier internal steps;
    TestToken internal token;
    address[] internal attestors;
    uint256 private _salt;

    function setUp() public virtual {
        vm.warp(NOW);
        vm.roll(1000);
        router = VerifierRouter(deploy("VerifierRouter", abi.encode(address(this), guardian)));
        for (uint256 i = 0; i < 9; ++i) attestors.push(vm.addr(0xA000 + i));
        registry = EnclaveRegistry(deploy("EnclaveRegistry", abi.encode(address(this), attestors, 5)));
        tee = TeeVerifier(deploy("TeeVerifier", abi.encode(registry)));
        steps = TestStepVerifier(deploy("TestStepVerifier", ""));
        token = TestToken(deploy("TestToken", ""));
        router.add(tee.SELECTOR(), tee);
        router.add(STEP, steps);
        router.add(STEP2, steps);
        rules = TermsRules(deploy("TermsRules", ""));
        randao = BlockRandao(deploy("BlockRandao", ""));
        settlement = Settlement(deploy("Settlement", abi.encode(parameters())));
        address[3] memory people = [client, provider, challenger];
        for (uint256 i = 0; i < people.length; ++i) {
            vm.deal(people[i], 1_000_000 ether);
            token.mint(people[i], 1_000_000 ether);
            vm.prank(people[i]);
            token.approve(address(settlement), type(uint256).max);
        }
    }

    function parameters() internal view returns (Parameters memory) {
        address[] memory tokens = new address[](2);
        tokens[1] = address(token);
        return Parameters(router, address(this), guardian, treasury, 10, rules, randao, tokens);
    }

    /// By artefact name: a test that held the contracts' code would compile all of it again.
    function deploy(string memory name, bytes memory args) internal returns (address) {
        return deploy(name, string.concat(name, ".sol"), args);
    }

    function deploy(string memory name, string memory file, bytes memory args) internal returns (address) {
        return vm.deployCode(string.concat(file, ":", name), args);
    }

    function baseTerms(uint8 mode) internal returns (Terms memory t) {
        t.client = client;
        t.provider = provider;
        t.keyBroker = broker;
        t.token = address(token);
        t.specDigest = keccak256(abi.encode("spec", ++_salt));
        t.initialWeights = keccak256("genesis");
        t.policy = POLICY;
        t.minTier = 1;
        t.teeSelector = tee.SELECTOR();
        t.price = 90 ether;
        t.stake = 60 ether;
        t.liveness = 6 ether;
        t.bond = 10 ether;
        t.bondFee = 1 ether;
        t.failShareBps = 5000;
        t.holdbackBps = 1000;
        t.segments = 4;
        t.mode = mode;
        t.seedCommitClient = keccak256(abi.encode(SEED_CLIENT));
        t.acceptBy = uint40(vm.getBlockTimestamp() + 100);
        t.windows = Windows(60, 600, 0, 0, 0, 0, 0, 0, 0);
        if (mode & ~(MODE_TEE | MODE_REVEAL) != 0) disputable(t);
        if (mode & MODE_SAMPLE != 0) {
            t.samples = 2;
            t.windows.draw = 50;
        }
        if (mode & MODE_REVEAL != 0) t.windows.reveal = 100;
    }

    function disputable(Terms memory t) internal pure {
        t.dutySelectors = new bytes4[](1);
        t.dutySelectors[0] = STEP;
        if (t.mode & (MODE_TEE | MODE_OPTIMISTIC) != 0) t.windows.challenge = 200;
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
        bytes32 key = bytes32(uint256(uint160(enclave)));
        bytes memory signature = sign(BROKER_KEY, digest(Statements.release(idOf(t), key, 0)));
        vm.prank(provider);
        settlement.start(t, key, 0, broker, signature);
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
        r.seal = runSeal(t, r);
    }

    function sealedDelivery(Terms memory t, bytes32[] memory b, bytes32 delivery) internal view returns (Run memory r) {
        r = unsealed(t, b, 0);
        r.delivery = delivery;
        r.seal = runSeal(t, r);
    }

    function runSeal(Terms memory t, Run memory r) internal view returns (bytes memory) {
        uint256 upTo = r.borders.length - 1;
        bytes32 statement = digest(
            Statements.run(idOf(t), upTo, r.outcome, rootOf(r.borders), r.borders[upTo], r.delivery)
        );
        return abi.encodePacked(tee.SELECTOR(), sign(enclaveSecret, statement));
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
            abi.encode(TestStepVerifier.Statement(settlement.domainSeparator(), idOf(t), i, before, afterwards))
        );
    }

    function register(uint40 notAfter) internal {
        Appraisal memory a = Appraisal(enclave, POLICY, provider, keccak256(abi.encode("evidence", ++_salt)), notAfter);
        registry.register(
            a, quorum(Statements.appraisal(a.key, a.policy, a.provider, a.evidence, a.notAfter), 5)
        );
    }

    function revoke() internal {
        registry.revoke(enclave, "extracted", quorum(Statements.revocation(enclave, "extracted"), 5));
    }

    function quorum(bytes32 structHash, uint256 count) internal view returns (bytes[] memory signatures) {
        signatures = new bytes[](count);
        bytes32 full = keccak256(abi.encodePacked("\x19\x01", registry.domainSeparator(), structHash));
        for (uint256 i = 0; i < count; ++i) signatures[i] = sign(0xA000 + i, full);
    }

    function digest(bytes32 structHash) internal view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", settlement.domainSeparator(), structHash));
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

    /// Segment `a` of a drawn sample: settlement §8.
    function sampleOf(Terms memory t, uint256 a) internal view returns (uint256) {
        Job memory j = settlement.jobOf(idOf(t));
        return uint256(keccak256(abi.encode(j.seed, a))) % j.upTo;
    }

    function later(uint256 secs) internal {
        vm.warp(vm.getBlockTimestamp() + secs);
    }

    function rootOf(bytes32[] memory b) internal pure returns (bytes32) {
        bytes32[] memory level = leaves(b);
        while (level.length > 1) level = up(level);
        return level[0];
    }

    function pathOf(bytes32[] memory b, uint256 index) internal pure returns (bytes32[] memory path) {
        bytes32[] memory level = leaves(b);
        uint256 depth;
        while (1 << depth < level.length) ++depth;
        path = new bytes32[](depth);
        for (uint256 i = 0; i < depth; ++i) {
            path[i] = level[index ^ 1];
            index >>= 1;
            level = up(level);
        }
    }

    function leaves(bytes32[] memory b) private pure returns (bytes32[] memory level) {
        uint256 width = 1;
        while (width < b.length) width *= 2;
        level = new bytes32[](width);
        for (uint256 i = 0; i < b.length; ++i) level[i] = keccak256(abi.encodePacked(bytes1(0x01), b[i]));
    }

    function up(bytes32[] memory level) private pure returns (bytes32[] memory out) {
        out = new bytes32[](level.length / 2);
        for (uint256 i = 0; i < out.length; ++i) out[i] = keccak256(abi.encode(level[2 * i], level[2 * i + 1]));
    }

    function equal(uint256 a, uint256 b) internal pure {
        require(a == b, string.concat("expected ", _text(b), ", got ", _text(a)));
    }

    function isState(Terms memory t, State s) internal view {
        equal(uint256(stateOf(t)), uint256(s));
    }

    function fails(bytes4 selector) internal {
        vm.expectPartialRevert(selector);
    }

    function _text(uint256 value) private pure returns (string memory) {
        if (value == 0) return "0";
        bytes memory out;
        for (; value != 0; value /= 10) out = abi.encodePacked(bytes1(uint8(48 + value % 10)), out);
        return string(out);
    }
}
