// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Role} from "../src/interfaces/IRoles.sol";
import {SnpBinding, SnpPolicy} from "../src/interfaces/ISnpRegistry.sol";
import "../src/Types.sol";
import {AbiPayload} from "./AbiPayload.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";

/// Told what an adapter has to say.
interface IRecorder {
    function by() external view returns (address);
}

/// Every external function of every contract in contracts/abi, called by one who may do nothing: arguments that fit its
/// signature, random bytes, and good calls cut short, lengthened, with words replaced or under another selector, with
/// little gas and with coin. Nothing may change, and every job must still end afterwards. ABI_FUZZ_CALLS sets the length.
contract AbiFuzzTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    address private constant STRANGER = address(0x57A6);
    uint256 private constant WEALTH = 1 ether;

    struct Entry {
        address target;
        string signature;
    }

    struct Good {
        address target;
        bytes data;
    }

    mapping(string name => address) private _deployed;
    Entry[] private _entries;
    /// Calls that returned, or failed with a reason: past the decoder.
    mapping(address target => mapping(bytes4 selector => uint256)) private _answers;
    Good[] private _good;
    Terms[] private _jobs;
    uint256[] private _known;
    address private _snpVerifier;
    address private _facts;
    address private _groth16;
    IRecorder private _recorder;
    uint256 private _random;
    uint256 private _returned;

    function setUp() public override {
        super.setUp();
        _openJobs();
        _deployAll();
        _readEntries();
        _goodCalls();
        vm.deal(STRANGER, WEALTH);
    }

    function test_calldata_of_a_stranger_changes_nothing() public {
        uint256 calls = vm.envOr("ABI_FUZZ_CALLS", uint256(6000));
        bytes32 before = this.stateDigest();
        for (uint256 i = 0; i < calls; ++i) {
            this.once(i);
            if (i % 50 == 49) require(this.stateDigest() == before, "a stranger changed something");
        }
        require(this.stateDigest() == before, "a stranger changed something");
        require(_returned > calls / 200, "hardly a call returned");
        if (calls >= 20 * _entries.length) _requireAnswers();
        _end();
    }

    function _requireAnswers() private view {
        string memory without;
        for (uint256 i = 0; i < _entries.length; ++i) {
            Entry storage e = _entries[i];
            if (_answers[e.target][_selectorOf(e)] == 0) without = string.concat(without, " ", e.signature);
        }
        require(bytes(without).length == 0, string.concat("never past the decoder:", without));
    }

    /// External, so that each call starts with fresh memory. By turns an entry point and a good call.
    function once(uint256 i) external {
        _random = uint256(keccak256(abi.encode("abi fuzz", i)));
        Entry storage e = _entries[(i / 2) % _entries.length];
        address target = e.target;
        bytes memory data;
        if (i % 2 == 0) {
            data = _draw(4) == 0
                ? abi.encodePacked(_selectorOf(e), _bytes(_draw(600)))
                : AbiPayload.call(AbiPayload.Source(bytes(e.signature), _known, _random));
        } else {
            Good memory good = _good[_draw(_good.length)];
            target = good.target;
            data = _spoilt(good.data, _selectorOf(e));
        }
        uint256 value = _draw(8) == 0 ? _draw(3) : 0;
        uint256 gas_ = _draw(2) == 0 ? 5_000_000 : 20_000 + _draw(400_000);
        vm.prank(STRANGER);
        (bool ok, bytes memory answer) = target.call{gas: gas_, value: value}(data);
        if (ok) ++_returned;
        if (data.length >= 4 && (ok || answer.length != 0)) ++_answers[target][bytes4(data)];
    }

    function _selectorOf(Entry storage e) private view returns (bytes4) {
        return bytes4(keccak256(bytes(e.signature)));
    }

    function _spoilt(bytes memory data, bytes4 selector) private returns (bytes memory) {
        uint256 kind = _draw(5);
        if (kind == 0) {
            uint256 length = _draw(data.length);
            assembly ("memory-safe") {
                mstore(data, length)
            }
        } else if (kind == 1) {
            data = abi.encodePacked(data, _bytes(1 + _draw(300)));
        } else if (kind == 2) {
            for (uint256 k = 0; k < 4; ++k) data[k] = selector[k];
        }
        uint256 words = kind == 3 ? 1 + _draw(3) : kind == 4 ? 1 : 0;
        for (; words != 0 && data.length >= 36; --words) _replaceWord(data);
        return data;
    }

    function _replaceWord(bytes memory data) private {
        uint256 place = 4 + 32 * _draw((data.length - 4) / 32);
        uint256[7] memory values =
            [uint256(0), 1, 0x20, _draw(data.length), type(uint256).max, 1 << 63, uint256(keccak256(abi.encode(_random)))];
        uint256 value = values[_draw(7)];
        assembly ("memory-safe") {
            mstore(add(add(data, 32), place), value)
        }
    }

    /// All that anybody owns or may do. A stranger may put coin of its own in; all of it stays its own.
    function stateDigest() external view returns (bytes32 sum) {
        address[5] memory people = [client, provider, challenger, treasury, address(this)];
        for (uint256 i = 0; i < people.length; ++i) {
            (uint128 free, uint128 locked) = settlement.stakes(people[i], address(token));
            sum = keccak256(
                abi.encode(
                    sum,
                    settlement.credits(people[i], address(token)),
                    settlement.credits(people[i], address(0)),
                    free,
                    locked,
                    token.balanceOf(people[i]),
                    roles.allowed(people[i])
                )
            );
        }
        for (uint256 i = 0; i < _jobs.length; ++i) {
            bytes32 id = idOf(_jobs[i]);
            sum = keccak256(abi.encode(sum, settlement.jobOf(id), dutyOf(_jobs[i])));
            (bool isBound, bool isSealed, bool isRevoked) = keys.factsOf(address(settlement), id, enclave);
            sum = keccak256(abi.encode(sum, isBound, isSealed, isRevoked));
            for (uint256 k = 0; k < 4; ++k) {
                sum = keccak256(abi.encode(sum, challengeOf(_jobs[i], k), isProved(_jobs[i], k)));
            }
        }
        sum = keccak256(abi.encode(sum, roles.paused(), _recorder.by(), token.balanceOf(address(settlement))));
        for (uint8 i = 0; i < 4; ++i) {
            (address to,) = roles.transferOf(Role(i));
            sum = keccak256(abi.encode(sum, roles.holderOf(Role(i)), to));
        }
        sum = keccak256(abi.encode(sum, router.isLive(STEP), router.isLive(STEP2), router.isLive(0x00000000)));
        for (uint256 i = 0; i < _known.length; ++i) sum = keccak256(abi.encode(sum, _kept(bytes32(_known[i]))));
        (uint128 own,) = settlement.stakes(STRANGER, address(0));
        uint256 put = own + settlement.credits(STRANGER, address(0));
        require(STRANGER.balance + put == WEALTH, "a stranger gained or lost coin");
        sum = keccak256(abi.encode(sum, address(settlement).balance - put));
    }

    /// What the verifiers hold under a word that the calls name often.
    function _kept(bytes32 word) private view returns (bytes memory) {
        return abi.encodePacked(
            _asked(_facts, abi.encodeWithSignature("facts(bytes32)", word)),
            _asked(_groth16, abi.encodeWithSignature("isRegistered(bytes32)", word)),
            _asked(_snpVerifier, abi.encodeWithSignature("revoked(bytes32)", word)),
            _asked(_snpVerifier, abi.encodeWithSignature("issuers(bytes32)", word)),
            _asked(_snpVerifier, abi.encodeWithSignature("endorsementOf(bytes32)", word)),
            _asked(address(registry), abi.encodeWithSignature("isAllowed(bytes32,bytes32)", word, word))
        );
    }

    function _asked(address target, bytes memory data) private view returns (bytes memory answer) {
        bool ok;
        (ok, answer) = target.staticcall(data);
        require(ok, "no such getter");
    }

    /// By artefact name, as everything that is deployed; whoever adds a contract adds it here.
    function _deployAll() private {
        address matmuls = deploy("ZkUnitMatmuls", "");
        address[4] memory relations = [
            deploy("ZkSoftmaxRelation", ""),
            deploy("ZkSquaredErrorRelation", ""),
            deploy("ZkUnitSoftmaxRelation", abi.encode(matmuls)),
            deploy("ZkUnitSquaredErrorRelation", abi.encode(matmuls))
        ];
        address p384 = deploy("P384", "");
        _snpVerifier = deploy("SnpVerifier", abi.encode(roles, new bytes32[3][](0), p384));
        _facts = deploy("ProofFacts", abi.encode(steps, STEP));
        _groth16 = deploy("Groth16StepVerifier", abi.encode(false));
        _recorder = IRecorder(deploy("Recorder", "Verifiers.t.sol", ""));
        _deployed["Settlement"] = address(settlement);
        _deployed["Roles"] = address(roles);
        _deployed["Keys"] = address(keys);
        _deployed["Duties"] = address(duties);
        _deployed["Delivery"] = address(delivery);
        _deployed["VerifierRouter"] = address(router);
        _deployed["TermsRules"] = address(rules);
        _deployed["BlockRandao"] = address(randao);
        _deployed["ZkSoftmaxRelation"] = relations[0];
        _deployed["ZkSquaredErrorRelation"] = relations[1];
        _deployed["ZkUnitMatmuls"] = matmuls;
        _deployed["ZkUnitSoftmaxRelation"] = relations[2];
        _deployed["ZkUnitSquaredErrorRelation"] = relations[3];
        _deployed["ZkStepVerifier"] = deploy("ZkStepVerifier", abi.encode(relations));
        address head = deploy("ZkProofHead", abi.encode(relations));
        _deployed["ZkProofHead"] = head;
        _deployed["ZkSplitVerifier"] = deploy("ZkSplitVerifier", abi.encode(head));
        _deployed["Groth16StepVerifier"] = _groth16;
        _deployed["P384"] = p384;
        _deployed["SnpVerifier"] = _snpVerifier;
        _deployed["SnpRegistry"] = address(registry);
        _deployed["ProofFacts"] = _facts;
        _deployed["LogAnchors"] = deploy("LogAnchors", "");
        _deployed["QuorumReexecution"] = deploy("QuorumReexecution", abi.encode(registry, POLICY, 2));
        _deployed["ValidationAdapter"] = deploy("ValidationAdapter", abi.encode(settlement, _recorder));
        _deployed["EvaluatorAdapter"] = deploy("EvaluatorAdapter", abi.encode(settlement, _recorder, idOf(_jobs[3])));
    }

    /// Every function of every artefact, so that none can be left out.
    function _readEntries() private {
        Vm.DirEntry[] memory files = vm.readDir("contracts/abi");
        for (uint256 i = 0; i < files.length; ++i) {
            string memory name = _nameOf(bytes(files[i].path));
            address target = _deployed[name];
            require(target != address(0), string.concat("a contract that this test does not reach: ", name));
            string memory json = vm.readFile(string.concat("contracts/out/", name, ".sol/", name, ".json"));
            string[] memory signatures = vm.parseJsonKeys(json, ".methodIdentifiers");
            for (uint256 k = 0; k < signatures.length; ++k) _entries.push(Entry(target, signatures[k]));
            require(signatures.length != 0, "no functions");
            _known.push(uint256(uint160(target)));
        }
        address[5] memory named = [client, provider, STRANGER, enclave, address(token)];
        for (uint256 i = 0; i < named.length; ++i) _known.push(uint256(uint160(named[i])));
        for (uint256 i = 0; i < _jobs.length; ++i) _known.push(uint256(idOf(_jobs[i])));
        _known.push(uint256(bytes32(STEP)));
        _known.push(uint256(POLICY));
        _known.push(block.timestamp + 50);
        _known.push(block.number - 1);
    }

    /// …/Name.json
    function _nameOf(bytes memory path) private pure returns (string memory) {
        uint256 end = path.length - 5;
        uint256 from = end;
        while (from != 0 && path[from - 1] != "/") --from;
        bytes memory name = new bytes(end - from);
        for (uint256 i = 0; i < name.length; ++i) name[i] = path[from + i];
        return string(name);
    }

    /// One job in every state that has calls.
    function _openJobs() private {
        uint16[6] memory modes = [
            MODE_OPTIMISTIC, MODE_OPTIMISTIC, MODE_TEE, MODE_SAMPLE, MODE_TEE | MODE_REVEAL, MODE_FULL
        ];
        for (uint256 i = 0; i < modes.length; ++i) {
            Terms memory t = baseTerms(modes[i]);
            if (modes[i] & MODE_TEE != 0) disputable(t);
            open(t);
            if (i >= 1) accept(t);
            if (i >= 2) start(t);
            if (i >= 3) {
                bytes32[] memory b = borders(t, 4, NONE);
                commit(t, t.mode & MODE_TEE != 0 ? sealedRun(t, b, 0) : unsealed(t, b, 0));
            }
            _jobs.push(t);
        }
        challenge(_jobs[4], 1);
    }

    /// Calls that would pass, or nearly, for the one who may make them.
    function _goodCalls() private {
        bytes[] memory signatures = quorum("anything", attestorSecrets.length);
        bytes32 word = keccak256("word");
        for (uint256 i = 0; i < _jobs.length; ++i) {
            Terms memory t = _jobs[i];
            bytes32[] memory b = borders(t, 4, NONE);
            bytes memory seal = stepSeal(t, 3, b[1], b[2]);
            Grant memory g = grantBy(1, t, enclave, provider);
            Approval[] memory approved = approvals(t, g);
            _add(address(rules), abi.encodeCall(rules.check, (t)));
            _add(address(rules), abi.encodeCall(rules.canCommit, (t)));
            _add(address(rules), abi.encodeCall(rules.isProvable, (t)));
            _add(address(rules), abi.encodeCall(rules.checkProvider, (t, STRANGER)));
            _add(address(keys), abi.encodeCall(keys.bind, (idOf(t), t, provider, g, approved)));
            _add(address(keys), abi.encodeCall(keys.sealer, (idOf(t), t.teeSelector, t.snpPolicy, abi.encode(word), only(enclave), sign(1, word))));
            _add(address(keys), abi.encodeCall(keys.endOf, (idOf(t), t.snpPolicy, enclave)));
            _add(address(keys), abi.encodeCall(keys.revoke, (address(settlement), t, enclave, word, signatures)));
            _add(address(duties), abi.encodeCall(duties.commit, (idOf(t), t, word, 4, false, word)));
            _add(address(duties), abi.encodeCall(duties.challenge, (idOf(t), t, 1, STRANGER)));
            _add(address(duties), abi.encodeCall(duties.discharge, (idOf(t), t, 1, transition(b, 1), seal, true)));
            _add(address(duties), abi.encodeCall(duties.lapse, (idOf(t), t, 1, 0)));
            _add(address(duties), abi.encodeCall(duties.unseal, (idOf(t), t, false)));
            _add(address(duties), abi.encodeCall(duties.refute, (idOf(t), t, b[3], pathOf(b, 3), b[4], seal)));
            _add(address(duties), abi.encodeCall(duties.draw, (idOf(t), t, word)));
            _add(address(duties), abi.encodeCall(duties.drawFallback, (idOf(t), t, abi.encode(word))));
            _add(address(duties), abi.encodeCall(duties.standing, (idOf(t), t)));
            _add(address(duties), abi.encodeCall(duties.isStuck, (idOf(t), t)));
            _add(
                address(delivery),
                abi.encodeCall(
                    delivery.requireAvailable, (idOf(t), t, word, CIPHERTEXT, word, uint40(NOW + 99), signatures)
                )
            );
            _add(address(settlement), abi.encodeCall(settlement.open, (t)));
            _add(address(settlement), abi.encodeCall(settlement.cancel, (t)));
            _add(address(settlement), abi.encodeCall(settlement.accept, (t, word, sign(1, word))));
            _add(address(settlement), abi.encodeCall(settlement.start, (t, g, approved)));
            _add(address(settlement), abi.encodeCall(settlement.bind, (t, g, approved)));
            _add(address(settlement), abi.encodeCall(settlement.resign, (t)));
            _add(address(settlement), abi.encodeCall(settlement.abort, (t)));
            _add(address(settlement), abi.encodeCall(settlement.commit, (t, unsealed(t, b, 0))));
            _add(address(settlement), abi.encodeCall(settlement.stop, (t)));
            _add(address(settlement), abi.encodeCall(settlement.abandon, (t)));
            _add(address(settlement), abi.encodeCall(settlement.voucher, (t, 1, sign(1, word))));
            _add(address(settlement), abi.encodeCall(settlement.challenge, (t, 2)));
            _add(address(settlement), abi.encodeCall(settlement.discharge, (t, 1, transition(b, 1), seal)));
            _add(address(settlement), abi.encodeCall(settlement.lapse, (t, 1, 0)));
            _add(address(settlement), abi.encodeCall(settlement.refundBond, (t, 1)));
            _add(address(settlement), abi.encodeCall(settlement.unseal, (t, enclave)));
            _add(address(settlement), abi.encodeCall(settlement.refute, (t, b[3], pathOf(b, 3), b[4], seal)));
            _add(address(settlement), abi.encodeCall(settlement.draw, (t, word)));
            _add(address(settlement), abi.encodeCall(settlement.drawFallback, (t, abi.encode(word, word))));
            _add(address(settlement), abi.encodeCall(settlement.finalize, (t, CIPHERTEXT, "other key")));
            _add(address(settlement), abi.encodeCall(settlement.missing, (t)));
            _add(address(settlement), abi.encodeCall(settlement.available, (t, CIPHERTEXT, word, uint40(NOW + 99), signatures)));
            _add(address(settlement), abi.encodeCall(settlement.published, (t, CIPHERTEXT, word)));
            _add(address(settlement), abi.encodeCall(settlement.acknowledge, (t)));
            _add(address(settlement), abi.encodeCall(settlement.undelivered, (t)));
            _add(address(settlement), abi.encodeCall(settlement.void, (t)));
            _add(address(settlement), abi.encodeCall(settlement.claimPrefix, (t, 1)));
        }
        _add(address(roles), abi.encodeCall(roles.setPaused, (true)));
        _add(address(roles), abi.encodeCall(roles.allow, (client)));
        _add(address(roles), abi.encodeCall(roles.disallow, (address(token))));
        _add(address(roles), abi.encodeCall(roles.propose, (Role.Governor, STRANGER)));
        _add(address(roles), abi.encodeCall(roles.take, (Role.Governor)));
        _add(address(roles), abi.encodeCall(roles.requireRole, (Role.Governor, STRANGER)));
        _add(address(settlement), abi.encodeCall(settlement.depositStake, (address(token), 1)));
        _add(address(settlement), abi.encodeCall(settlement.releaseStake, (address(token), 1)));
        _add(address(settlement), abi.encodeCall(settlement.withdraw, (address(token))));
        _add(address(settlement), abi.encodeCall(settlement.withdrawTo, (address(token), STRANGER)));
        _registryCalls();
        _add(address(delivery), abi.encodeCall(delivery.publish, (new bytes32[](1), 5, 0, "other")));
        _add(address(router), abi.encodeCall(router.add, (0x00000000, steps)));
        _add(address(router), abi.encodeCall(router.tombstone, (STEP)));
        _add(_facts, abi.encodeWithSignature("store(bytes)", sign(1, word)));
        _add(_snpVerifier, abi.encodeWithSignature("condemn(bytes32,bytes32)", word, word));
        _add(_snpVerifier, abi.encodeWithSignature("verifyReport(bytes,bytes)", new bytes(1184), new bytes(96)));
        _add(_deployed["P384"], abi.encodeWithSignature("verify(bytes,bytes,bytes)", new bytes(48), new bytes(96), new bytes(96)));
        _add(_deployed["LogAnchors"], abi.encodeWithSignature("anchor(bytes32,uint64,bytes32)", word, 1, word));
        _add(_deployed["EvaluatorAdapter"], abi.encodeWithSignature("evaluate(uint256)", 1));
        _add(_deployed["ValidationAdapter"], abi.encodeWithSignature("answer(bytes32)", idOf(_jobs[3])));
    }

    function _registryCalls() private {
        SnpPolicy memory p;
        p.owner = client;
        SnpBinding memory b;
        _add(address(registry), abi.encodeCall(registry.setMeasurement, (p, "image", true)));
        _add(address(registry), abi.encodeCall(registry.register, (p, b, new bytes(1184), new bytes(96))));
        _add(address(registry), abi.encodeCall(registry.requireLive, (enclave, POLICY, provider)));
        _add(address(registry), abi.encodeCall(registry.policyId, (p)));
    }

    function _add(address target, bytes memory data) private {
        _good.push(Good(target, data));
    }

    /// Nothing that a stranger sent keeps a job from its end.
    function _end() private {
        vm.warp(NOW + 10_000);
        settlement.cancel(_jobs[0]);
        settlement.abort(_jobs[1]);
        settlement.abandon(_jobs[2]);
        settlement.lapse(_jobs[4], 1, 0);
        settlement.lapse(_jobs[5], 0, 0);
        for (uint256 i = 0; i < _jobs.length; ++i) {
            // The sampled job waits for the header of a block, or a week: test/draw.test.ts.
            if (i != 3) require(stateOf(_jobs[i]) > State.Committed, "stuck");
        }
    }

    function _bytes(uint256 length) private returns (bytes memory data) {
        data = new bytes(length);
        for (uint256 i = 0; i < length; i += 32) {
            uint256 word = uint256(keccak256(abi.encode(_random, i)));
            if (_draw(3) == 0) word = _draw(700);
            for (uint256 k = i; k < i + 32 && k < length; ++k) data[k] = bytes1(uint8(word >> (8 * (31 - (k - i)))));
        }
    }

    function _draw(uint256 n) private returns (uint256) {
        _random = uint256(keccak256(abi.encode(_random)));
        return n == 0 ? 0 : _random % n;
    }
}
