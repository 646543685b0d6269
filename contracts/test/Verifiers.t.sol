// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {DUTY_DRAWN, DUTY_SAMPLE, Duty} from "../src/Duties.sol";
import {EvaluatorAdapter, IAgenticCommerce} from "../src/adapters/EvaluatorAdapter.sol";
import {IValidationRegistry, ValidationAdapter} from "../src/adapters/ValidationAdapter.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {SnpBinding, SnpPolicy} from "../src/interfaces/ISnpRegistry.sol";
import {SnpClaims} from "../src/interfaces/ISnpVerifier.sol";
import {ProofFacts} from "../src/verifiers/ProofFacts.sol";
import {QuorumReexecution} from "../src/verifiers/QuorumReexecution.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {TestStepVerifier} from "./TestStepVerifier.sol";
import {vm} from "./Vm.sol";

/// Remembers what it was told, and by whom.
contract Recorder is IValidationRegistry, IAgenticCommerce {
    bytes public last;
    address public by;

    function validationResponse(bytes32 a, uint8 b, string calldata c, bytes32 d, string calldata e) external {
        (last, by) = (abi.encode(a, b, c, d, e), msg.sender);
    }

    function complete(uint256 jobId, bytes32 reason, bytes calldata) external {
        (last, by) = (abi.encode("complete", jobId, reason), msg.sender);
    }

    function reject(uint256 jobId, bytes32 reason, bytes calldata) external {
        (last, by) = (abi.encode("reject", jobId, reason), msg.sender);
    }
}

/// Seals by reference and by re-execution, and what is told to contracts elsewhere: contracts/SPEC.md §11, §18.
contract VerifiersTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    bytes32 private constant IMAGE = keccak256("image");
    uint256 private constant AUDITOR = 0xAAD170;

    function _facts() private returns (ProofFacts facts) {
        facts = ProofFacts(deploy("ProofFacts", abi.encode(steps, STEP)));
        router.add(facts.SELECTOR(), facts);
    }

    function test_a_proof_in_pieces_becomes_a_fact_that_discharges() public {
        ProofFacts facts = _facts();
        Terms memory t = baseTerms(MODE_FULL);
        t.dutySelectors[0] = facts.SELECTOR();
        started(t);
        bytes32[] memory b = borders(t, 4, NONE);
        commit(t, unsealed(t, b, 0));
        for (uint256 i = 0; i < 4; ++i) {
            bytes memory seal = abi.encodePacked(STEP, _body(t, b, i));
            address[] memory chunks = _store(facts, seal, 50);
            bytes32 statement = digest(Statements.segment(idOf(t), i, b[i], b[i + 1]));
            bytes memory byFact = abi.encodePacked(facts.SELECTOR());
            fails(FACT_MISSING.selector);
            settlement.discharge(t, i, transition(b, i), byFact);
            fails(TestStepVerifier.TEST_STATEMENT.selector);
            facts.prove(keccak256("other"), chunks);
            vm.prank(challenger);
            facts.prove(statement, chunks);
            fails(SEAL_LENGTH.selector);
            settlement.discharge(t, i, transition(b, i), abi.encodePacked(byFact, bytes1(0)));
            settlement.discharge(t, i, transition(b, i), byFact);
        }
        later(201);
        settlement.finalize(t, 0, 0);
        isState(t, State.Settled);
    }

    function test_pieces_are_bounded_and_in_order() public {
        ProofFacts facts = _facts();
        fails(FACT_CHUNK.selector);
        facts.store("");
        fails(FACT_CHUNK.selector);
        facts.store(new bytes(24_576));
        facts.store(new bytes(24_575));
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = borders(t, 4, NONE);
        bytes32 statement = digest(Statements.segment(idOf(t), 0, b[0], b[1]));
        address[] memory chunks = _store(facts, abi.encodePacked(STEP, _body(t, b, 0)), 64);
        (chunks[0], chunks[1]) = (chunks[1], chunks[0]);
        fails(SEAL_SELECTOR.selector);
        facts.prove(statement, chunks);
        (chunks[0], chunks[1]) = (chunks[1], chunks[0]);
        address kept = chunks[2];
        chunks[2] = client;
        fails(FACT_CHUNK.selector);
        facts.prove(statement, chunks);
        chunks[2] = kept;
        facts.prove(statement, chunks);
        bytes4 selector = facts.SELECTOR();
        facts.verify(abi.encodePacked(selector), statement);
        fails(SEAL_SELECTOR.selector);
        facts.verify(abi.encodePacked(STEP), statement);
        fails(SEAL_SELECTOR.selector);
        facts.prove(statement, new address[](0));
    }

    function testFuzz_pieces_give_back_their_bytes(bytes calldata data, uint256 size) public {
        ProofFacts facts = ProofFacts(deploy("ProofFacts", abi.encode(this, bytes4(0x0a0b0c0d))));
        bytes memory seal = abi.encodePacked(bytes4(0x0a0b0c0d), data);
        address[] memory chunks = _store(facts, seal, 1 + size % 100);
        facts.prove(keccak256(seal), chunks);
        require(facts.facts(keccak256(seal)), "no fact");
    }

    /// Judges the seals of the test above.
    function verify(bytes calldata seal, bytes32 statementDigest) external pure {
        require(keccak256(seal) == statementDigest, "other bytes");
    }

    function _store(ProofFacts facts, bytes memory seal, uint256 size) private returns (address[] memory chunks) {
        chunks = new address[]((seal.length + size - 1) / size);
        for (uint256 i = 0; i < chunks.length; ++i) {
            uint256 length = i + 1 < chunks.length ? size : seal.length - i * size;
            bytes memory part = new bytes(length);
            for (uint256 k = 0; k < length; ++k) part[k] = seal[i * size + k];
            chunks[i] = facts.store(part);
        }
    }

    function _body(Terms memory t, bytes32[] memory b, uint256 i) private view returns (bytes memory) {
        return abi.encode(
            TestStepVerifier.Statement(Statements.domain(address(settlement)), idOf(t), i, b[i], b[i + 1])
        );
    }

    function _policy(bytes32 salt) private view returns (SnpPolicy memory p) {
        p.owner = address(this);
        p.salt = salt;
        (p.validForSeconds, p.nonceBlocks) = (500, 64);
    }

    function _auditors() private returns (QuorumReexecution quorum_) {
        SnpPolicy memory p = _policy("auditors");
        registry.setMeasurement(p, IMAGE, true);
        quorum_ = QuorumReexecution(
            deploy("QuorumReexecution", abi.encode(registry, registry.policyId(p), uint256(3)))
        );
        router.add(quorum_.SELECTOR(), quorum_);
        // The fourth enclave stands on the third's machine.
        for (uint256 i = 0; i < 4; ++i) _register(p, AUDITOR + i, keccak256(abi.encode("chip", i == 3 ? 2 : i)));
    }

    function _register(SnpPolicy memory p, uint256 secret, bytes32 chip) private {
        SnpBinding memory b;
        (b.settlementKey, b.provider) = (vm.addr(secret), address(uint160(secret)));
        b.nonceBlock = vm.getBlockNumber() - 1;
        vm.setBlockhash(b.nonceBlock, "hash");
        SnpClaims memory c;
        (c.product, c.measurement, c.chip, c.notAfter) = (1, IMAGE, chip, type(uint40).max);
        c.id = keccak256(abi.encode("report", secret));
        (c.reportDataHigh, c.reportDataLow) = snp.dataOf(b, address(registry), "hash");
        snp.tell(abi.encode(secret), c);
        registry.register(p, b, abi.encode(secret), "");
    }

    function _signed(QuorumReexecution quorum_, bytes32 statement, uint256[3] memory who)
        private
        view
        returns (bytes memory seal)
    {
        for (uint256 i = 0; i < 3; ++i) {
            for (uint256 k = i + 1; k < 3; ++k) {
                if (vm.addr(who[k]) < vm.addr(who[i])) (who[i], who[k]) = (who[k], who[i]);
            }
        }
        seal = abi.encodePacked(quorum_.SELECTOR());
        for (uint256 i = 0; i < 3; ++i) seal = abi.encodePacked(seal, sign(who[i], statement));
    }

    function test_three_machines_that_trained_again_discharge() public {
        QuorumReexecution quorum_ = _auditors();
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.dutySelectors[0] = quorum_.SELECTOR();
        started(t);
        bytes32[] memory b = borders(t, 4, NONE);
        commit(t, unsealed(t, b, 0));
        challenge(t, 1);
        bytes32 statement = digest(Statements.segment(idOf(t), 1, b[1], b[2]));
        bytes memory sameHost = _signed(quorum_, statement, [AUDITOR, AUDITOR + 2, AUDITOR + 3]);
        fails(REEXECUTION_CHIP.selector);
        settlement.discharge(t, 1, transition(b, 1), sameHost);
        bytes memory sameKey = _signed(quorum_, statement, [AUDITOR, AUDITOR, AUDITOR + 1]);
        fails(QUORUM_REPEATED.selector);
        settlement.discharge(t, 1, transition(b, 1), sameKey);
        bytes memory other = _signed(quorum_, keccak256("other"), [AUDITOR, AUDITOR + 1, AUDITOR + 2]);
        vm.expectRevert();
        settlement.discharge(t, 1, transition(b, 1), other);
        bytes memory good = _signed(quorum_, statement, [AUDITOR, AUDITOR + 1, AUDITOR + 2]);
        fails(SEAL_LENGTH.selector);
        settlement.discharge(t, 1, transition(b, 1), abi.encodePacked(good, bytes1(0)));
        settlement.discharge(t, 1, transition(b, 1), good);
        later(501);
        fails(SNP_EXPIRED.selector);
        quorum_.verify(good, statement);
    }

    function test_only_auditors_of_the_policy_count() public {
        QuorumReexecution quorum_ = _auditors();
        registry.setMeasurement(_policy("others"), IMAGE, true);
        _register(_policy("others"), 0x5EED, "chip");
        bytes memory seal = _signed(quorum_, "statement", [AUDITOR, AUDITOR + 1, uint256(0x5EED)]);
        fails(SNP_UNKNOWN.selector);
        quorum_.verify(seal, "statement");
        seal = _signed(quorum_, "statement", [AUDITOR, AUDITOR + 1, AUDITOR + 2]);
        quorum_.verify(seal, "statement");
        for (uint256 i = 4; i < 69; ++i) seal[i] = 0;
        fails(SIGNATURE.selector);
        quorum_.verify(seal, "statement");
    }

    function test_the_validation_registry_hears_how_a_job_ended() public {
        Recorder recorder = Recorder(deploy("Recorder", "Verifiers.t.sol", ""));
        ValidationAdapter adapter = ValidationAdapter(deploy("ValidationAdapter", abi.encode(settlement, recorder)));
        Terms memory t = baseTerms(MODE_FULL);
        bytes32[] memory b = committed(t, NONE);
        bytes32 id = idOf(t);
        fails(JOB_STATE.selector);
        adapter.answer(id);
        for (uint256 i = 0; i < 4; ++i) discharge(t, b, i);
        later(201);
        settlement.finalize(t, 0, 0);
        adapter.answer(id);
        _same(recorder.last(), abi.encode(id, uint8(100), "", rootOf(b), "zk-full"));
        Terms memory lost = baseTerms(MODE_OPTIMISTIC);
        committed(lost, 0);
        challenge(lost, 0);
        later(41);
        settlement.lapse(lost, 0, 0);
        adapter.answer(idOf(lost));
        (, uint8 response,,, string memory tag) =
            abi.decode(recorder.last(), (bytes32, uint8, string, bytes32, string));
        equal(response, 0);
        _same(bytes(tag), "optimistic-final");
        Terms memory cancelled = baseTerms(MODE_FULL);
        open(cancelled);
        vm.prank(client);
        settlement.cancel(cancelled);
        fails(JOB_STATE.selector);
        adapter.answer(idOf(cancelled));
    }

    function test_tags_name_what_vouched() public {
        ValidationAdapter adapter = ValidationAdapter(deploy("ValidationAdapter", abi.encode(settlement, client)));
        Job memory j;
        Duty memory d;
        (d.upTo, d.proved, d.flags, j.flags) = (4, 3, DUTY_SAMPLE | DUTY_DRAWN, FLAG_SEALED);
        _same(bytes(adapter.tagOf(j, d)), "tee");
        j.flags = 0;
        _same(bytes(adapter.tagOf(j, d)), "zk-sampled");
        d.proved = 4;
        _same(bytes(adapter.tagOf(j, d)), "zk-full");
    }

    function test_the_evaluator_completes_or_rejects() public {
        Recorder recorder = Recorder(deploy("Recorder", "Verifiers.t.sol", ""));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        EvaluatorAdapter good =
            EvaluatorAdapter(deploy("EvaluatorAdapter", abi.encode(settlement, recorder, idOf(t))));
        committed(t, NONE);
        fails(JOB_STATE.selector);
        good.evaluate(7);
        later(201);
        settlement.finalize(t, 0, 0);
        good.evaluate(7);
        _same(recorder.last(), abi.encode("complete", uint256(7), idOf(t)));
        require(recorder.by() == address(good), "caller");
        Terms memory gone = baseTerms(MODE_OPTIMISTIC);
        started(gone);
        later(601);
        settlement.abandon(gone);
        EvaluatorAdapter bad =
            EvaluatorAdapter(deploy("EvaluatorAdapter", abi.encode(settlement, recorder, idOf(gone))));
        bad.evaluate(8);
        _same(recorder.last(), abi.encode("reject", uint256(8), idOf(gone)));
    }

    function _same(bytes memory a, bytes memory b) private pure {
        require(keccak256(a) == keccak256(b), "bytes differ");
    }
}
