// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Parameters} from "../src/JobStore.sol";
import {Settlement} from "../src/Settlement.sol";
import {DUTY_OPEN, SEAL_SELECTOR, SEGMENT_PATH} from "../src/Errors.sol";
import {IStepVerifier} from "../src/interfaces/IStepVerifier.sol";
import {STEP_PLAN, STEP_STATEMENT} from "../src/verifiers/zk/ZkErrors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// Jobs whose duties are met by genuine step proofs through router and escrow. test/zk-jobs-main.ts makes the proofs with
/// the TypeScript prover just before the tests run.
contract ZkJobsTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    bytes4 private constant ZK = bytes4(keccak256("veritrain/zk/fxt-zk/1"));

    string private _json;

    function setUp() public override {
        super.setUp();
        _json = vm.readFile("contracts/cache/zk-jobs.json");
        router.add(ZK, IStepVerifier(deploy("WeakStepVerifier", relations())));
        address deployer = vm.parseJsonAddress(_json, ".deployer");
        bytes memory code = abi.encodePacked(vm.getCode("Settlement.sol:Settlement"), abi.encode(Parameters(roles, router, rules, duties, delivery)));
        address escrow;
        vm.prank(deployer);
        assembly {
            escrow := create(0, add(code, 32), mload(code))
        }
        require(escrow == vm.parseJsonAddress(_json, ".escrow"), "the proofs are made for another escrow");
        settlement = Settlement(escrow);
    }

    function test_full_is_paid_when_every_segment_is_proved() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("full");
        started(t);
        commit(t, unsealed(t, b, 0));
        _prove(t, b, seals, 0);
        fails(DUTY_OPEN.selector);
        settlement.finalize(t, 0, 0);
        _prove(t, b, seals, 1);
        later(201);
        settlement.finalize(t, 0, 0);
        _paid(t);
    }

    function test_a_drawn_segment_is_proved() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("sampled");
        started(t);
        commit(t, unsealed(t, b, 0));
        settlement.draw(t, SEED_CLIENT);
        _prove(t, b, seals, sampleOf(t, 0));
        later(201);
        settlement.finalize(t, 0, 0);
        _paid(t);
    }

    function test_a_challenged_segment_is_proved() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("optimistic");
        started(t);
        commit(t, unsealed(t, b, 0));
        challenge(t, 1);
        _prove(t, b, seals, 1);
        equal(credit(provider, t), t.bond - t.bondFee);
        later(201);
        settlement.finalize(t, 0, 0);
        _paid(t);
    }

    function test_proofs_take_the_place_of_a_revoked_key() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("attested");
        started(t);
        commit(t, sealedRun(t, b, 0));
        challenge(t, 0);
        _prove(t, b, seals, 0);
        revoke(t);
        settlement.unseal(t, enclave);
        _prove(t, b, seals, 1);
        later(201);
        settlement.finalize(t, 0, 0);
        _paid(t);
    }

    /// A run that names other weights after segment 0 has no proof, whichever genuine proof is offered.
    function test_a_false_segment_has_no_proof() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("optimistic");
        bytes32 right = b[1];
        b[1] = keccak256("other weights");
        started(t);
        commit(t, unsealed(t, b, 0));
        challenge(t, 0);
        fails(STEP_STATEMENT.selector);
        this.prove(t, b, seals, 0, 0);
        b[1] = right;
        fails(SEGMENT_PATH.selector);
        this.prove(t, b, seals, 0, 0);
        later(41);
        settlement.lapse(t, 0, 0);
        isState(t, State.Slashed);
    }

    function test_a_proof_serves_one_segment_of_one_job() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("full");
        (,, bytes[] memory others) = _job("sampled");
        started(t);
        commit(t, unsealed(t, b, 0));
        fails(STEP_STATEMENT.selector);
        this.prove(t, b, seals, 0, 1);
        fails(STEP_STATEMENT.selector);
        this.prove(t, b, others, 0, 0);
        bytes memory seal = seals[0];
        seal[0] ^= 0x01;
        fails(SEAL_SELECTOR.selector);
        this.prove(t, b, seals, 0, 0);
        seal[0] ^= 0x01;
        // In the folded row that closes the argument, which the last words of the proof hold.
        seal[seal.length - 40] ^= 0x01;
        vm.expectRevert();
        this.prove(t, b, seals, 0, 0);
        seal[seal.length - 40] ^= 0x01;
        this.prove(t, b, seals, 0, 0);
    }

    /// A seal says one thing in one way: its head is selector and offset, and the offset is that of what follows.
    function test_Z_L2_a_seal_with_another_offset_is_refused() public {
        (Terms memory t, bytes32[] memory b, bytes[] memory seals) = _job("full");
        started(t);
        commit(t, unsealed(t, b, 0));
        bytes memory seal = seals[0];
        for (uint256 i = 4; i < 36; i += 31) {
            seal[i] ^= 0x40;
            fails(STEP_STATEMENT.selector);
            this.prove(t, b, seals, 0, 0);
            seal[i] ^= 0x40;
        }
        this.prove(t, b, seals, 0, 0);
    }

    function test_Z_L2_nor_one_of_a_groth16_proof() public {
        IStepVerifier groth16 = IStepVerifier(deploy("Groth16StepVerifier", abi.encode(false)));
        bytes4 selector = bytes4(keccak256("veritrain/zk/fxt-groth16/1"));
        bytes memory body = new bytes(1024);
        fails(STEP_STATEMENT.selector);
        groth16.verify(abi.encodePacked(selector, uint256(64), body), 0);
        fails(STEP_PLAN.selector);
        groth16.verify(abi.encodePacked(selector, uint256(32), body), 0);
    }

    /// The proofs of these tests are of a few bits: the contract that is deployed takes none of them.
    function test_Z_H2_a_weak_plan_is_refused_whoever_agreed_to_it() public {
        IStepVerifier strict = IStepVerifier(deploy("ZkStepVerifier", relations()));
        (,, bytes[] memory seals) = _job("full");
        fails(STEP_PLAN.selector);
        strict.verify(seals[0], 0);
    }

    /// Arguments of a verifier of step proofs; no job here has units.
    function relations() private returns (bytes memory) {
        return abi.encode(deploy("ZkSoftmaxRelation", ""), deploy("ZkSquaredErrorRelation", ""), address(0), address(0));
    }

    function prove(Terms memory t, bytes32[] memory b, bytes[] memory seals, uint256 segment, uint256 seal) external {
        settlement.discharge(t, segment, transition(b, segment), seals[seal]);
    }

    function _prove(Terms memory t, bytes32[] memory b, bytes[] memory seals, uint256 segment) private {
        settlement.discharge(t, segment, transition(b, segment), seals[segment]);
    }

    function _job(string memory name) private view returns (Terms memory t, bytes32[] memory b, bytes[] memory seals) {
        string memory key = string.concat(".", name);
        t = abi.decode(vm.parseJsonBytes(_json, string.concat(key, ".terms")), (Terms));
        b = vm.parseJsonBytes32Array(_json, string.concat(key, ".borders"));
        seals = vm.parseJsonBytesArray(_json, string.concat(key, ".seals"));
    }

    function _paid(Terms memory t) private view {
        isState(t, State.Settled);
        require(credit(provider, t) >= t.price, "unpaid");
    }
}
