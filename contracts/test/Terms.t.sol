// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// What `open` refuses, and that it refuses no more: contracts/SPEC.md §5.
contract TermsTest is Fixture {
    function _refused(Terms memory t, bytes4 code) private {
        fails(code);
        rules.check(t);
    }

    function _allowed(Terms memory t) private view {
        rules.check(t);
    }

    function test_segments() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.segments = 0;
        _refused(t, TERMS_SEGMENTS.selector);
        t.segments = 4001;
        _refused(t, TERMS_SEGMENTS.selector);
        t.segments = 4000;
        _allowed(t);
    }

    function test_modes() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.mode = 0;
        _refused(t, TERMS_MODE.selector);
        t.mode = MODE_OPTIMISTIC | 64;
        _refused(t, TERMS_MODE.selector);
        t.mode = MODE_OPTIMISTIC | MODE_REVEAL;
        _refused(t, TERMS_MODE.selector);
        t.mode = MODE_REVEAL;
        _refused(t, TERMS_MODE.selector);
        t.mode = MODE_OPTIMISTIC | MODE_EARLY;
        _refused(t, TERMS_MODE.selector);
        t = baseTerms(MODE_SAMPLE);
        _allowed(t);
        t.mode = MODE_SAMPLE | MODE_FULL;
        _refused(t, TERMS_MODE.selector);
        t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_EARLY);
        _allowed(t);
        disputable(t);
        _refused(t, TERMS_MODE.selector);
        t = baseTerms(MODE_TEE);
        t.dutySelectors = new bytes4[](0);
        _refused(t, TERMS_MODE.selector);
        _allowed(baseTerms(MODE_FULL));
        _allowed(baseTerms(MODE_TEE | MODE_REVEAL));
        _allowed(baseTerms(MODE_TEE | MODE_FULL));
        _allowed(baseTerms(MODE_TEE | MODE_SAMPLE | MODE_OPTIMISTIC));
    }

    function test_fields_of_later_layouts_say_nothing_yet() public {
        for (uint256 i = 0; i < 4; ++i) {
            Terms memory t = baseTerms(MODE_FULL);
            if (i == 0) t.unit = 1;
            else if (i == 1) t.unitSegments = 2;
            else if (i == 2) t.parts = 2;
            else t.providers = "root";
            _refused(t, TERMS_UNIT.selector);
        }
    }

    function test_attestors_stand_once_in_order_and_are_nobody_else() public {
        Terms memory t = baseTerms(MODE_TEE);
        t.needed = 4;
        _refused(t, TERMS_ATTESTORS.selector);
        t.needed = 3;
        _allowed(t);
        (t.attestors[0], t.attestors[1]) = (t.attestors[1], t.attestors[0]);
        _refused(t, TERMS_PARTY.selector);
        t = baseTerms(MODE_TEE);
        t.attestors[0] = address(0);
        _refused(t, TERMS_PARTY.selector);
        t = baseTerms(MODE_TEE);
        t.attestors = only(broker);
        _refused(t, TERMS_PARTY.selector);
        t.attestors = only(provider);
        _refused(t, TERMS_PARTY.selector);
        t.attestors = only(client);
        _allowed(t);
        t.attestors = new address[](17);
        for (uint256 i = 0; i < 17; ++i) t.attestors[i] = address(uint160(i + 1));
        _refused(t, TERMS_ATTESTORS.selector);
        t.attestors = new address[](0);
        _refused(t, TERMS_ATTESTORS.selector);
        t.needed = 0;
        _allowed(t);
    }

    function test_amounts() public {
        Terms memory t = baseTerms(MODE_TEE);
        t.liveness = t.stake + 1;
        _refused(t, TERMS_LIVENESS.selector);
        t.liveness = t.stake;
        t.bondFee = 0;
        _refused(t, TERMS_BOND.selector);
        t.bondFee = t.bond + 1;
        _refused(t, TERMS_BOND.selector);
        t.bondFee = t.bond;
        t.failShareBps = 10_001;
        _refused(t, TERMS_SHARE.selector);
        t.failShareBps = 10_000;
        t.holdbackBps = 10_001;
        _refused(t, TERMS_SHARE.selector);
        t.holdbackBps = 10_000;
        _allowed(t);
    }

    function test_samples() public {
        Terms memory t = baseTerms(MODE_SAMPLE);
        t.samples = 0;
        _refused(t, TERMS_SAMPLES.selector);
        t.samples = 33;
        _refused(t, TERMS_SAMPLES.selector);
        t.samples = 32;
        _allowed(t);
        t = baseTerms(MODE_OPTIMISTIC);
        t.samples = 1;
        _refused(t, TERMS_SAMPLES.selector);
    }

    function test_times() public {
        Terms memory t = baseTerms(MODE_TEE);
        t.acceptBy = uint40(NOW);
        _allowed(t);
        t.acceptBy = uint40(NOW - 1);
        _refused(t, TERMS_EXPIRED.selector);
        for (uint256 i = 0; i < 11; ++i) {
            t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_SAMPLE | MODE_OPTIMISTIC);
            t.windows = Windows(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
            _allowed(t);
            _set(t.windows, i, 0);
            if (i == 2 || i == 7) _allowed(t); // finality, hold
            else _refused(t, TERMS_WINDOW.selector);
            _set(t.windows, i, 2 ** 24 - 1);
            _allowed(t);
            _set(t.windows, i, 2 ** 24);
            _refused(t, TERMS_WINDOW.selector);
        }
    }

    function test_windows_of_modes_that_need_none() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.windows = Windows(1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0);
        _allowed(t);
        t.dutySelectors = new bytes4[](1);
        t.dutySelectors[0] = STEP;
        _refused(t, TERMS_WINDOW.selector);
        (t.windows.prove, t.windows.provePer) = (1, 1);
        _allowed(t);
        t.windows.challenge = 0;
        _refused(t, TERMS_WINDOW.selector);
        t = baseTerms(MODE_FULL);
        t.windows.provePer = 0;
        _refused(t, TERMS_WINDOW.selector);
        t = baseTerms(MODE_OPTIMISTIC);
        (t.windows.draw, t.windows.drawBlocks, t.windows.reveal, t.windows.ack) = (0, 0, 0, 0);
        _allowed(t);
    }

    function test_a_chain_has_a_least_window() public {
        vm.expectRevert();
        this.strict(0);
        address strict_ = this.strict(100);
        for (uint256 i = 0; i < 11; ++i) {
            Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_SAMPLE | MODE_OPTIMISTIC);
            t.windows = Windows(100, 100, 0, 100, 100, 100, 1, 0, 100, 100, 1);
            _set(t.windows, i, i == 6 || i == 10 ? 0 : i == 2 || i == 7 ? 5 : 99);
            (bool ok, bytes memory answer) = strict_.staticcall(abi.encodeCall(rules.check, (t)));
            require(ok == (i == 2 || i == 7), "floor"); // finality and hold have none here
            require(ok || bytes4(answer) == TERMS_WINDOW.selector, "code");
        }
    }

    function strict(uint32 least) external returns (address) {
        return deploy("TermsRules", abi.encode(router, randao, least, uint32(0), uint32(1)));
    }

    function test_verifiers() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.dutySelectors = new bytes4[](9);
        for (uint256 i = 0; i < 9; ++i) t.dutySelectors[i] = STEP;
        _refused(t, TERMS_SELECTORS.selector);
        t.dutySelectors = new bytes4[](8);
        for (uint256 i = 0; i < 8; ++i) t.dutySelectors[i] = STEP;
        _allowed(t);
        t.dutySelectors[7] = 0x01020304;
        _refused(t, ROUTER_UNKNOWN.selector);
        t.dutySelectors = new bytes4[](0);
        _refused(t, TERMS_SELECTORS.selector);
        t = baseTerms(MODE_OPTIMISTIC);
        t.teeSelector = 0x01020304;
        _refused(t, ROUTER_UNKNOWN.selector);
        t = baseTerms(MODE_TEE);
        _allowed(t);
        t.teeSelector = 0x01020304;
        _refused(t, ROUTER_UNKNOWN.selector);
    }

    function _set(Windows memory w, uint256 i, uint32 value) private pure {
        assembly ("memory-safe") {
            mstore(add(w, shl(5, i)), value)
        }
    }
}
