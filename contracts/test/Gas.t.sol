// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Statements} from "../src/libraries/Statements.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// Gas of each transaction under the Osaka rules, kept exactly in contracts/snapshots; the bars of
/// contracts/SPEC.md §17. Run by script/check.mjs in isolation: each call is then a transaction of its own, with cold
/// storage and calldata paid.
contract GasTest is Fixture {
    uint256 private constant NONE = type(uint256).max;

    function setUp() public override {
        if (vm.envOr("GAS_ISOLATED", uint256(0)) == 1) super.setUp();
    }

    modifier isolated() {
        if (address(settlement) != address(0)) _;
    }

    function _record(string memory name, uint256 most) private {
        uint256 used = vm.snapshotGasLastCall("settlement", name);
        require(used <= most, string.concat(name, " takes more gas than its bar"));
    }

    function test_tee_job() public isolated {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.segments = 1;
        t.attestors = only(attestors[0]);
        open(t);
        _record("open, ERC-20", 140_000);
        accept(t);
        _record("accept", 90_000);
        start(t);
        _record("start", 120_000);
        Run memory r = sealedRun(t, borders(t, 1, NONE), 0);
        commit(t, r);
        _record("commit, TEE seal, one segment", 120_000);
        later(201);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        _record("finalize, key revealed", 120_000);
        vm.prank(provider);
        settlement.withdraw(t.token);
        _record("withdraw", 60_000);
    }

    /// What a stranger pays who publishes a result of a whole piece; calldata alone.
    function test_publish() public isolated {
        bytes memory chunk = new bytes(98_304);
        for (uint256 i = 0; i < chunk.length; i += 1) chunk[i] = bytes1(uint8(i % 251 + 1));
        bytes32[] memory hashes = new bytes32[](1);
        hashes[0] = sha256(chunk);
        delivery.publish(hashes, 98_304, 0, chunk);
        _record("publish, one chunk of 98,304 bytes", 4_200_000);
    }

    function test_dispute() public isolated {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.segments = 16;
        bytes32[] memory b = committed(t, 3);
        challenge(t, 2);
        _record("challenge", 140_000);
        discharge(t, b, 2);
        _record("discharge, 16 segments, with the test verifier", 210_000);
        challenge(t, 3);
        later(100);
        settlement.lapse(t, 3, 0);
        _record("lapse", 160_000);
    }

    function test_sample() public isolated {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.segments = 256;
        t.samples = 16;
        t.windows.compute = 100_000;
        bytes32[] memory b = committed(t, NONE);
        settlement.draw(t, SEED_CLIENT);
        _record("draw, 16 of 256", 70_000);
        for (uint256 a = 0; a < 16; ++a) {
            uint256 segment = sampleOf(t, a);
            if (!isProved(t, segment)) discharge(t, b, segment);
        }
        later(201);
        settlement.finalize(t, 0, 0);
        _record("finalize, 16 of 256 samples", 200_000);
    }

    /// The end by the rule of the spec: part of the price goes back.
    function test_early_stop() public isolated {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_EARLY);
        started(t);
        commit(t, sealedRun(t, borders(t, 2, NONE), OUTCOME_EARLY));
        _record("commit, early stop, two of four segments", 140_000);
        later(201);
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        _record("finalize, early stop", 130_000);
    }

    function test_commit_grows_by_at_most_1600_gas_for_each_border() public isolated {
        uint256[4] memory sizes = [uint256(16), 147, 1024, 4000];
        for (uint256 i = 0; i < sizes.length; ++i) {
            Terms memory t = baseTerms(MODE_OPTIMISTIC);
            t.segments = uint32(sizes[i]);
            bytes32[] memory b = borders(t, sizes[i], NONE);
            started(t);
            commit(t, unsealed(t, b, 0));
            _record(string.concat("commit, segments ", _name(i)), 180_000 + 1600 * sizes[i]);
        }
    }

    function _name(uint256 i) private pure returns (string memory) {
        return ["16", "147", "1024", "4000"][i];
    }
}
