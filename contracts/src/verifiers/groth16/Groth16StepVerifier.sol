// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IStepVerifier} from "../../interfaces/IStepVerifier.sol";
import {Statements} from "../../libraries/Statements.sol";
import {SEAL_SELECTOR} from "../../Errors.sol";
import {StepContext, StepSpec} from "../zk/StepContext.sol";
import {STEP_PLAN, STEP_STATEMENT} from "../zk/ZkErrors.sol";
import {Groth16, SIGNALS} from "./Groth16.sol";

error GROTH16_DEVELOPMENT();
error GROTH16_REGISTERED(bytes32 plan);

/// What a plan fixes beside its key.
struct Circuit {
    bytes32 digest; // of the circuit's text
    bytes32 layoutHash; // layoutDigest of its weight commitments
    uint32 inputs; // n_0
    uint16 classes;
    uint16 batch;
    uint8 steps; // of a segment, at most 31
}

/// The body of a seal, ABI-encoded after the selector. Commitments are elements of the scalar field.
struct Groth16Seal {
    bytes32 domain; // EIP-712 domain separator of the statement
    bytes terms; // ABI encoding of the job's Terms
    uint256 index;
    StepSpec spec;
    bytes32 plan;
    bytes32 before;
    bytes32 afterwards;
    bytes32 data;
    bytes32[] dataPath;
    uint256[8] proof;
}

/// Verifies Groth16 proofs of scheme `fxt-groth16/1` for a Segment of a job. A plan is a circuit with its key, named by
/// its digest: whoever registers one can neither replace another nor say anything of it that its name does not bind. The
/// job's terms name the plan, so both sides have chosen the key, and with it the ceremony that they trust.
contract Groth16StepVerifier is IStepVerifier {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/zk/fxt-groth16/1"));
    bytes32 private constant PLAN = keccak256("fxt-groth16/plan/1");
    bytes32 private constant KEY = keccak256("fxt-groth16/key/1");
    bytes32 private constant DATA = keccak256("fxt-groth16/data/1");
    bytes32 private constant WEIGHTS = keccak256("fxt-weights/1");
    bytes32 private constant CEREMONY = keccak256("fxt-groth16/ceremony/1");
    /// Terms are one ABI tuple: its offset, then client, provider, keyBroker, token, specDigest.
    uint256 private constant SPEC_DIGEST_AT = 160;
    uint256 private constant STEPS_MAX = 31;
    uint256 private constant PLAN_BYTES = 41;

    /// Whether keys of one machine's own making may be registered: whoever made one can forge.
    bool public immutable takesDevelopmentKeys;

    /// What a seal is judged by, beside the key.
    struct Plan {
        bytes32 layoutHash;
        uint32 inputs;
        uint16 classes;
        uint16 batch;
        uint8 steps;
    }

    /// Contracts whose code is a zero byte, the Plan packed, and the key.
    mapping(bytes32 plan => address) private _places;

    event PlanRegistered(bytes32 indexed plan, bytes32 indexed circuit, bool development);

    constructor(bool takesDevelopmentKeys_) {
        takesDevelopmentKeys = takesDevelopmentKeys_;
    }

    /// Once for a plan, by anyone.
    function register(Circuit calldata circuit, bool development, bytes calldata key) external returns (bytes32 plan) {
        if (development && !takesDevelopmentKeys) revert GROTH16_DEVELOPMENT();
        if (circuit.steps == 0 || circuit.steps > STEPS_MAX || circuit.batch == 0) revert STEP_PLAN();
        plan = planDigest(circuit, development, key);
        if (_places[plan] != address(0)) revert GROTH16_REGISTERED(plan);
        Groth16.requireKey(key);
        _places[plan] = _store(
            abi.encodePacked(
                circuit.layoutHash, circuit.inputs, circuit.classes, circuit.batch, circuit.steps, key
            )
        );
        emit PlanRegistered(plan, circuit.digest, development);
    }

    function isRegistered(bytes32 plan) external view returns (bool) {
        return _places[plan] != address(0);
    }

    function planDigest(Circuit calldata circuit, bool development, bytes calldata key) public pure returns (bytes32) {
        bytes32 ceremony = keccak256(abi.encodePacked(CEREMONY, development ? "development" : "external"));
        return keccak256(
            abi.encode(
                PLAN,
                keccak256(abi.encodePacked(KEY, circuit.digest, ceremony, key)),
                circuit.layoutHash,
                circuit.inputs,
                circuit.classes,
                circuit.batch,
                circuit.steps
            )
        );
    }

    /// Code that begins with STOP is data.
    function _store(bytes memory data) private returns (address place) {
        bytes memory init = abi.encodePacked(hex"600b5981380380925939f300", data);
        assembly ("memory-safe") {
            place := create(0, add(init, 32), mload(init))
        }
        if (place == address(0)) revert STEP_PLAN();
    }

    function _read(address place) private view returns (Plan memory p) {
        bytes32 layoutHash;
        uint256 sizes;
        assembly ("memory-safe") {
            extcodecopy(place, 0, 1, 64)
            layoutHash := mload(0)
            sizes := mload(32)
        }
        p = Plan(layoutHash, uint32(sizes >> 224), uint16(sizes >> 208), uint16(sizes >> 192), uint8(sizes >> 184));
    }

    /// @inheritdoc IStepVerifier
    function verify(bytes calldata seal, bytes32 statementDigest) external view {
        if (seal.length < 68 || bytes4(seal[:4]) != SELECTOR) revert SEAL_SELECTOR(bytes4(seal));
        // One tuple behind its offset: with another word here two seals would say the same.
        if (uint256(bytes32(seal[4:36])) != 32) revert STEP_STATEMENT();
        Groth16Seal calldata s;
        assembly ("memory-safe") {
            s := add(seal.offset, 36)
        }
        address place = _places[s.plan];
        if (place == address(0)) revert STEP_PLAN();
        Groth16.check(place, 1 + PLAN_BYTES, _signals(s, _read(place), statementDigest), s.proof);
    }

    /// Ties the seal to the statement, and everything in it to the job; gives the public signals.
    function _signals(Groth16Seal calldata s, Plan memory p, bytes32 statementDigest)
        private
        pure
        returns (uint256[SIGNALS] memory)
    {
        if (uint256(s.before) >= Groth16.R || uint256(s.afterwards) >= Groth16.R || uint256(s.data) >= Groth16.R) {
            revert STEP_STATEMENT();
        }
        if (s.terms.length < SPEC_DIGEST_AT + 32) revert STEP_STATEMENT();
        if (bytes32(s.terms[SPEC_DIGEST_AT:]) != StepContext.specDigest(s.spec, s.plan)) revert STEP_STATEMENT();
        if (s.index >= s.spec.steps || s.index * p.steps >= s.spec.steps) revert STEP_STATEMENT();
        uint256 superblock = StepContext.superblockOf(s.spec, uint256(p.batch) * p.steps, s.index);
        bytes32 leaf =
            keccak256(abi.encodePacked(DATA, s.data, p.inputs, uint32(p.classes), uint32(p.batch), uint32(p.steps)));
        StepContext.requireMember(s.spec.datasetRoot, leaf, superblock, s.dataPath);
        bytes32 statement = Statements.segment(
            keccak256(s.terms),
            s.index,
            _weightsDigest(s.before, p.layoutHash),
            _weightsDigest(s.afterwards, p.layoutHash)
        );
        if (keccak256(abi.encodePacked(hex"1901", s.domain, statement)) != statementDigest) revert STEP_STATEMENT();
        return [
            uint256(s.before),
            uint256(s.afterwards),
            uint256(s.data),
            uint256(statementDigest) >> 128,
            uint256(statementDigest) & type(uint128).max,
            _sizes(s.spec, s.index * p.steps, p.steps)
        ];
    }

    function _weightsDigest(bytes32 root, bytes32 layoutHash) private pure returns (bytes32) {
        return keccak256(abi.encode(WEIGHTS, root, bytes32(0), layoutHash));
    }

    /// Σ m_t·256^t of the segment's steps; 0 beyond the job's last step.
    function _sizes(StepSpec calldata s, uint256 firstStep, uint256 count) private pure returns (uint256 sizes) {
        uint256 entry;
        uint256 m = 1;
        for (uint256 t; t < count && firstStep + t < s.steps; ++t) {
            while (entry < s.schedule.length && s.schedule[entry] >> 8 <= firstStep + t) m = s.schedule[entry++] & 0xff;
            sizes |= m << (8 * t);
        }
    }
}
