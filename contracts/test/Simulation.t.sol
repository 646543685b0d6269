// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Transition} from "../src/Duties.sol";
import {Run} from "../src/Running.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {DRAW_NONE, STAKE_SHORT} from "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// Many jobs at once under random calls and time jumps, with the actors of settlement §15: a prover that proves one
/// segment per provePer, earliest deadline first; a watcher that acts near the end of each window; an enclave that lies
/// and is revoked; offers of true transitions outside the tree and of a false border 0; two challengers of one job;
/// refunds asked for twice. After every action the money and safety invariants are recomputed from state.
contract SimulationTest is Fixture {
    struct Life {
        Terms t;
        uint256 wrong; // first false segment, NONE in an honest life
        uint256 upTo;
        bool watched;
        State ended;
    }

    uint256 private constant NONE = type(uint256).max;
    uint256 private constant LIVES = 6;
    uint256 private constant ACTIONS = 20;
    bytes4 private constant FRESH = 0xf0000000;

    Life[] private _lives;
    uint256 private _random;
    address private _rival = address(0xC4A2);
    uint32 private _selectors;
    string[] private _names;

    /// Printed by `forge test -vv`.
    event log_named_uint(string key, uint256 val);
    mapping(string => uint256) private _count;

    function setUp() public override {
        super.setUp();
        vm.deal(_rival, 1_000_000 ether);
        token.mint(_rival, 1_000_000 ether);
        token.mint(provider, type(uint128).max);
        token.mint(client, type(uint128).max);
        vm.prank(_rival);
        token.approve(address(settlement), type(uint256).max);
        register(type(uint40).max);
    }

    /// SIMULATION_ACTIONS random actions in each of four runs; what the gate runs by default takes seconds.
    /// SIMULATION_SEED starts elsewhere, so that a long simulation can be had in parts.
    function test_simulation() public {
        uint256 actions = vm.envOr("SIMULATION_ACTIONS", uint256(1500));
        uint256 seed = vm.envOr("SIMULATION_SEED", uint256(0));
        for (uint256 run = seed; run < seed + 4; ++run) {
            _random = uint256(keccak256(abi.encode("simulation", run)));
            for (uint256 i = 0; i < actions; ++i) this.act();
        }
        this.drain();
        emit log_named_uint("random actions", 4 * actions);
        for (uint256 i = 0; i < _names.length; ++i) emit log_named_uint(_names[i], _count[_names[i]]);
        if (actions >= 1000) this.requireEveryKind(actions >= 4000);
    }

    function requireEveryKind(bool long) external view {
        // Vacuity: calls succeeded and every end was reached. Bonds left open at an end are too rare to demand here:
        // test/Disputes.t.sol plays them.
        // The gate's run is too short for a watcher who finds the segment unchallenged and for a result that nobody shows.
        string[29] memory needed = [
            "open", "cancel", "abort", "start", "commit", "commit sealed", "stop", "abandon", "voucher", "challenge",
            "prove", "lapse", "escalate", "refute", "draw", "finalize", "prefix",
            "missing", "available", "acknowledge", "attack refused", "false start refused", "withdraw", "award",
            "pause", "void", "void refused", "stake", "dead verifier"
        ];
        string memory never;
        for (uint256 i = 0; i < needed.length; ++i) {
            if (_count[needed[i]] == 0) never = string.concat(never, " ", needed[i]);
        }
        require(bytes(never).length == 0, string.concat("never:", never));
        if (!long) return;
        require(_count["watch"] != 0 && _count["undelivered"] != 0, "never: watch or undelivered");
        for (uint8 s = uint8(State.Settled); s <= uint8(State.Voided); ++s) {
            require(_count[_endOf(State(s))] != 0, string.concat("never: ", _endOf(State(s))));
        }
    }

    /// External, so that each action starts with fresh memory.
    function act() external {
        uint256 action = _draw(ACTIONS);
        if (_lives.length < LIVES || action == 0) return _checked(_open);
        Life storage life = _lives[_draw(_lives.length)];
        Terms memory t = life.t;
        State s = stateOf(t);
        if (action <= 3 && s < State.Committed) _progress(life, t, s);
        else if (action <= 4 && s == State.Committed) {
            for (uint256 i = life.upTo; i > 0; --i) {
                if (_draw(2) == 0) _challenge(t, _draw(2) == 0 ? challenger : _rival, i - 1);
            }
        }
        else if (action == 5) _lapse(t, _draw(6));
        else if (action == 6) _finish(life, t, s);
        else if (action == 7) _tick(1 + _draw(6));
        else if (action == 8) _attack(life, t, s);
        else if (action == 9) _escalate(t, s);
        else if (action == 10 || s > State.Committed) _refundAll(t);
        else if (action == 11) _voucher(t);
        else if (action == 12) for (uint256 i = 0; i < _lives.length; ++i) _prefix(_lives[i].t);
        else if (action == 13) _withdraw(t);
        else if (action == 14) _deliverAll();
        else if (action == 15) _refute(life, t, s);
        else if (action == 17) _pause(t);
        else if (action == 18) _kill(life, t);
        else if (action == 19) _stake(t);
        else _give_up(t, s);
        _checkMoney();
        _checkLives();
    }

    function _checked(function() internal f) private {
        f();
        _checkMoney();
        _checkLives();
    }

    /// I6: with nobody's consent but time, every job ends.
    function drain() external {
        for (uint256 round = 0; round < 60; ++round) {
            for (uint256 i = 0; i < _lives.length; ++i) this.push(i);
            this.tick10();
        }
        for (uint256 i = 0; i < _lives.length; ++i) require(stateOf(_lives[i].t) > State.Committed, "stuck");
    }

    function tick10() external {
        _tick(10);
    }

    function push(uint256 i) external {
        Life storage life = _lives[i];
        Terms memory t = life.t;
        State s = stateOf(t);
        if (s == State.Open && vm.getBlockTimestamp() > t.acceptBy) settlement.cancel(t);
        _give_up(t, s);
        _finish(life, t, s);
        if (stateOf(t) <= State.Committed) _void(t);
        for (uint256 k = 0; k < t.segments; ++k) _lapse(t, k);
        _checkMoney();
        _checkLives();
    }

    function _open() private {
        uint8[10] memory modes = [
            MODE_OPTIMISTIC, MODE_FULL, MODE_SAMPLE, MODE_TEE, MODE_TEE | MODE_REVEAL, MODE_TEE | MODE_OPTIMISTIC,
            MODE_SAMPLE | MODE_OPTIMISTIC, MODE_TEE | MODE_FULL, MODE_TEE | MODE_REVEAL, MODE_FULL
        ];
        Terms memory t = baseTerms(modes[_draw(modes.length)]);
        t.token = address(token);
        t.price = uint128(1 + _draw(1000));
        t.stake = uint128(_draw(1000));
        t.liveness = uint128(_draw(uint256(t.stake) + 1));
        t.bond = uint128(1 + _draw(100));
        t.bondFee = uint128(1 + _draw(t.bond));
        t.segments = uint32(1 + _draw(6));
        if (t.mode & MODE_SAMPLE != 0) t.samples = uint32(1 + _draw(8));
        if (t.mode & MODE_REVEAL != 0) t.windows.ack = 120;
        if (t.mode & MODE_TEE != 0 && _draw(2) == 0) disputable(t);
        t.acceptBy = uint40(vm.getBlockTimestamp() + 1000);
        if (_draw(4) == 0) t.provider = address(0);
        if (t.dutySelectors.length != 0 && _draw(3) == 0) {
            t.dutySelectors[0] = bytes4(uint32(FRESH) + ++_selectors);
            router.add(t.dutySelectors[0], steps);
        }
        open(t);
        _hit("open");
        uint256 wrong = _draw(2) == 0 ? NONE : _draw(t.segments);
        uint256 place = _lives.length;
        for (uint256 i = 0; i < _lives.length; ++i) {
            if (_lives[i].ended != State.None && settlement.jobOf(idOf(_lives[i].t)).openDuties == 0) place = i;
        }
        if (place == _lives.length) _lives.push();
        Life storage life = _lives[place];
        life.t = t;
        life.wrong = wrong;
        life.upTo = t.segments;
        life.watched = t.windows.challenge != 0;
        life.ended = State.None;
    }

    function _progress(Life storage life, Terms memory t, State s) private {
        if (s == State.Open) {
            if (_draw(8) == 0 || vm.getBlockTimestamp() > t.acceptBy) return _cancel(t);
            accept(t);
            if (t.provider == address(0)) _hit("award");
        } else if (s == State.Accepted) {
            if (vm.getBlockTimestamp() <= uint256(settlement.jobOf(idOf(t)).since) + 60) {
                start(t);
                _hit("start");
            }
        } else if (s == State.Started) {
            if (vm.getBlockTimestamp() <= uint256(settlement.jobOf(idOf(t)).since) + 600) _commit(life, t);
        }
    }

    function _cancel(Terms memory t) private {
        vm.prank(client);
        settlement.cancel(t);
        _hit("cancel");
    }

    function _commit(Life storage life, Terms memory t) private {
        uint8 outcome = OUTCOME_COMPLETE;
        uint256 choice = _draw(10);
        if (choice == 0) {
            vm.prank(client);
            settlement.stop(t);
            _hit("stop");
            outcome = OUTCOME_STOPPED;
            life.upTo = _draw(t.segments + 1);
        } else if (choice == 1) {
            outcome = OUTCOME_RANGE;
            life.upTo = _draw(t.segments);
        }
        bytes32[] memory b = borders(t, life.upTo, life.wrong);
        bytes32 good = b[0];
        b[0] = "elsewhere";
        Run memory r = unsealed(t, b, outcome);
        vm.prank(provider);
        try settlement.commit(t, r) {
            require(false, "a false border 0 was accepted");
        } catch {
            _hit("false start refused");
        }
        b[0] = good;
        bool sealed_ = t.mode & MODE_TEE != 0 && (_draw(4) != 0 || t.mode & MODE_REVEAL != 0);
        r = sealed_ ? sealedRun(t, b, outcome) : unsealed(t, b, outcome);
        vm.prank(provider);
        try settlement.commit(t, r) {
            _hit(sealed_ ? "commit sealed" : "commit");
        } catch {}
    }

    function _challenge(Terms memory t, address who, uint256 segment) private returns (bool done) {
        vm.prank(who);
        try settlement.challenge(t, segment) {
            _hit("challenge");
            return true;
        } catch {}
    }

    function _lapse(Terms memory t, uint256 segment) private {
        for (uint256 a = 0; a <= t.samples; ++a) {
            try settlement.lapse(t, segment, a) {
                _hit("lapse");
                return;
            } catch {}
        }
    }

    function _finish(Life storage, Terms memory t, State s) private {
        if (s != State.Committed) return;
        Job memory j = settlement.jobOf(idOf(t));
        (bytes32 c, bytes32 k) = j.delivery == 0 ? (bytes32(0), bytes32(0)) : (CIPHERTEXT, REVEAL_KEY);
        if (j.delivery != 0) {
            try settlement.finalize(t, c, "wrong key") {
                require(false, "paid for a wrong key");
            } catch {}
        }
        try settlement.finalize(t, c, k) {
            _hit("finalize");
        } catch {}
    }

    /// Time passes in steps of provePer; in each, prover and watcher do what they must.
    function _tick(uint256 steps_) private {
        for (uint256 i = 0; i < steps_; ++i) this.tick();
    }

    function tick() external {
        for (uint256 i = 0; i < _lives.length; ++i) {
            Life storage life = _lives[i];
            Terms memory t = life.t;
            if (stateOf(t) != State.Committed) continue;
            Job memory j = settlement.jobOf(idOf(t));
            if (j.flags & FLAG_SAMPLE_DUE != 0 && j.flags & FLAG_DRAWN == 0) {
                settlement.draw(t, SEED_CLIENT);
                _hit("draw");
                // I11: once.
                fails(DRAW_NONE.selector);
                settlement.draw(t, SEED_CLIENT);
                j = settlement.jobOf(idOf(t));
            }
            _prove(life, t, j);
            uint256 end = uint256(j.since) + t.windows.challenge;
            if (life.watched && vm.getBlockTimestamp() + 20 > end) {
                if (life.wrong < life.upTo && _challenge(t, challenger, life.wrong)) _hit("watch");
            }
        }
        later(10);
    }

    /// One proof of a true due segment, the earliest deadline first.
    function _prove(Life storage life, Terms memory t, Job memory j) private {
        bytes32 id = idOf(t);
        uint256 best = NONE;
        uint256 bestDeadline = NONE;
        for (uint256 i = 0; i < life.upTo; ++i) {
            if (i == life.wrong || settlement.isProved(id, i) || !_provable(t)) continue;
            Challenge memory c = settlement.challengeOf(id, i);
            uint256 deadline = c.challenger != address(0) ? c.deadline : NONE;
            if (_inSet(t, j, i) && j.setDeadline < deadline) deadline = j.setDeadline;
            if (deadline < bestDeadline) (best, bestDeadline) = (i, deadline);
        }
        if (best == NONE || bestDeadline < vm.getBlockTimestamp()) return;
        discharge(t, borders(t, life.upTo, life.wrong), best);
        _hit("prove");
    }

    function _provable(Terms memory t) private view returns (bool) {
        return t.dutySelectors.length != 0 && router.isLive(t.dutySelectors[0]);
    }

    function _inSet(Terms memory t, Job memory j, uint256 segment) private view returns (bool) {
        if (j.flags & FLAG_ALL_DUE != 0) return true;
        if (j.flags & FLAG_DRAWN == 0) return false;
        for (uint256 a = 0; a < t.samples; ++a) if (sampleOf(t, a) == segment) return true;
        return false;
    }

    /// True transitions that the run does not contain, and proofs of the wrong place: none may discharge anything.
    function _attack(Life storage life, Terms memory t, State s) private {
        if (s != State.Committed || life.upTo == 0) return;
        bytes32[] memory b = borders(t, life.upTo, life.wrong);
        uint256 i = _draw(life.upTo);
        Transition memory x = transition(b, i);
        bytes memory seal;
        if (_draw(2) == 0) {
            x.before = "elsewhere";
            x.afterwards = steps.next(x.before);
            seal = stepSeal(t, i, x.before, x.afterwards);
        } else {
            x.afterwards = steps.next(keccak256(abi.encode(x.before)));
            seal = stepSeal(t, i, keccak256(abi.encode(x.before)), x.afterwards);
        }
        try settlement.discharge(t, i, x, seal) {
            require(false, "a transition outside the run discharged a duty");
        } catch {
            _hit("attack refused");
        }
    }

    function _escalate(Terms memory t, State s) private {
        if (_draw(4) == 0) {
            revoke();
            enclave = vm.addr(++enclaveSecret);
            register(type(uint40).max);
            for (uint256 i = 0; i < _lives.length; ++i) _tryEscalate(_lives[i].t);
        }
        if (s == State.Committed) _tryEscalate(t);
    }

    function _tryEscalate(Terms memory t) private {
        bool live = settlement.jobOf(idOf(t)).enclaveKey == enclave;
        try settlement.escalate(t) {
            require(!live, "escalated with a live key");
            _hit("escalate");
        } catch {}
    }

    function _refundAll(Terms memory t) private {
        for (uint256 i = 0; i < t.segments; ++i) _refund(t, i);
    }

    function _refund(Terms memory t, uint256 segment) private {
        try settlement.refundBond(t, segment) {
            _hit("refund");
        } catch {
            return;
        }
        try settlement.refundBond(t, segment) {
            require(false, "a bond was refunded twice");
        } catch {
            _hit("second refund refused");
        }
    }

    function _voucher(Terms memory t) private {
        uint128 cumulative = uint128(_draw(uint256(t.price) + 1));
        bytes memory signature = sign(CLIENT_KEY, digest(Statements.voucher(idOf(t), cumulative)));
        vm.prank(provider);
        try settlement.voucher(t, cumulative, signature) {
            _hit("voucher");
        } catch {}
    }

    function _prefix(Terms memory t) private {
        for (uint256 n = t.segments; n > 0; --n) {
            vm.prank(provider);
            try settlement.claimPrefix(t, n) {
                _hit("prefix");
                return;
            } catch {}
        }
    }

    function _withdraw(Terms memory t) private {
        address[5] memory people = [client, provider, challenger, _rival, treasury];
        address who = people[_draw(5)];
        uint256 before = token.balanceOf(who);
        uint256 due = settlement.credits(who, t.token);
        vm.prank(who);
        try settlement.withdraw(t.token) {
            equal(token.balanceOf(who) - before, due);
            _hit("withdraw");
        } catch {}
    }

    function _deliverAll() private {
        for (uint256 i = 0; i < _lives.length; ++i) _deliver(_lives[i].t, stateOf(_lives[i].t));
    }

    function _deliver(Terms memory t, State s) private {
        if (s != State.Committed || t.mode & MODE_REVEAL == 0) return;
        bytes[] memory signatures = quorum(Statements.availability(idOf(t), CIPHERTEXT), 5);
        bytes32 keyCommit = keccak256(abi.encode(REVEAL_KEY));
        bool asked = settlement.jobOf(idOf(t)).flags & FLAG_MISSING != 0;
        if (_draw(asked ? 4 : 2) == 0) {
            vm.prank(client);
            try settlement.missing(t) {
                _hit("missing");
            } catch {}
        } else if (!asked) {
            vm.prank(client);
            try settlement.acknowledge(t) {
                _hit("acknowledge");
            } catch {}
        } else {
            try settlement.available(t, CIPHERTEXT, keyCommit, signatures) {
                _hit("available");
            } catch {}
        }
    }

    function _refute(Life storage life, Terms memory t, State s) private {
        if (s != State.Committed) return;
        bytes32[] memory b = borders(t, life.upTo, life.wrong);
        bytes32 last = b[life.upTo];
        bytes32[] memory path = pathOf(b, life.upTo);
        bytes32 possible = steps.next(last);
        bytes memory seal = stepSeal(t, life.upTo, last, possible);
        for (uint256 i = 0; i < life.upTo; ++i) _challenge(t, challenger, i);
        bool claimed = settlement.jobOf(idOf(t)).outcome == OUTCOME_RANGE;
        vm.prank(_rival);
        try settlement.refute(t, last, path, possible, seal) {
            require(claimed, "refuted a run that did not give up");
            // In this world every segment is possible: whoever says otherwise lies.
            life.wrong = life.upTo;
            _hit("refute");
        } catch {}
    }

    function _give_up(Terms memory t, State s) private {
        if (s == State.Accepted) {
            try settlement.abort(t) {
                _hit("abort");
            } catch {}
        } else if (s == State.Started) {
            try settlement.abandon(t) {
                _hit("abandon");
            } catch {}
        } else if (s == State.Committed) {
            try settlement.undelivered(t) {
                _hit("undelivered");
            } catch {}
        }
    }

    /// I9: the guardian stops new jobs and nothing else; _checkMoney follows every action.
    function _pause(Terms memory t) private {
        vm.prank(guardian);
        settlement.setPaused(true);
        t.specDigest = keccak256(abi.encode("paused", _random));
        t.acceptBy = uint40(vm.getBlockTimestamp() + 1000);
        vm.prank(client);
        try settlement.open(t) {
            require(false, "opened while paused");
        } catch {
            _hit("pause");
        }
        _withdraw(t);
        vm.prank(guardian);
        settlement.setPaused(false);
    }

    /// A verifier of one job dies. Nobody may be slashed for it, and the job must still end.
    function _kill(Life storage life, Terms memory t) private {
        if (t.dutySelectors.length != 0 && uint32(t.dutySelectors[0]) > uint32(FRESH) && _draw(4) == 0 && _provable(t)) {
            vm.prank(guardian);
            router.tombstone(t.dutySelectors[0]);
            life.watched = false;
            _hit("dead verifier");
        }
        _void(t);
    }

    function _void(Terms memory t) private {
        bool provable = _provable(t);
        try settlement.void(t) {
            require(!provable, "void with a live verifier");
            _hit("void");
        } catch {
            _hit("void refused");
        }
    }

    function _stake(Terms memory t) private {
        uint128 amount = uint128(_draw(1000));
        vm.prank(provider);
        settlement.depositStake(t.token, amount);
        (uint128 free,) = settlement.stakes(provider, t.token);
        vm.prank(provider);
        settlement.releaseStake(t.token, uint128(_draw(uint256(free) + 1)));
        fails(STAKE_SHORT.selector);
        vm.prank(_rival);
        settlement.releaseStake(t.token, 1);
        _hit("stake");
    }

    /// I1, I2: the contract holds exactly what it owes.
    function _checkMoney() private view {
        address[5] memory people = [client, provider, challenger, _rival, treasury];
        uint256 owed;
        for (uint256 i = 0; i < people.length; ++i) owed += settlement.credits(people[i], address(token));
        (uint128 free, uint128 locked) = settlement.stakes(provider, address(token));
        owed += free;
        uint256 lockedByJobs;
        for (uint256 i = 0; i < _lives.length; ++i) {
            Terms memory t = _lives[i].t;
            Job memory j = settlement.jobOf(idOf(t));
            require(j.paid <= t.price, "paid more than the price");
            owed += uint256(j.openDuties) * t.bond;
            if (j.state == State.None || j.state > State.Committed) continue;
            owed += t.price - j.paid;
            if (j.flags & FLAG_MISSING != 0) owed += t.bondFee;
            if (j.state != State.Open) lockedByJobs += t.stake;
        }
        equal(locked, lockedByJobs);
        equal(token.balanceOf(address(settlement)), owed + locked);
    }

    /// I3, I4, I7.
    function _checkLives() private {
        for (uint256 i = 0; i < _lives.length; ++i) {
            Life storage life = _lives[i];
            State s = stateOf(life.t);
            if (life.ended != State.None) {
                require(s == life.ended, "an ended job changed");
                continue;
            }
            if (s <= State.Committed) continue;
            life.ended = s;
            _hit(_endOf(s));
            uint16 flags = settlement.jobOf(idOf(life.t)).flags;
            bool isFalse = life.wrong < life.upTo;
            if (isFalse && (life.watched || flags & FLAG_ALL_DUE != 0)) {
                require(s != State.Settled && s != State.Stopped, "a false run was paid");
            }
            if (life.wrong == NONE) require(s != State.Slashed, "an honest provider was slashed");
        }
    }

    function _endOf(State s) private pure returns (string memory) {
        string[7] memory names =
            ["Settled", "Stopped", "Aborted", "Abandoned", "Undelivered", "Slashed", "Voided"];
        return string.concat("end ", names[uint8(s) - uint8(State.Settled)]);
    }

    function _hit(string memory name) private {
        if (_count[name] == 0) _names.push(name);
        _count[name] += 1;
    }

    function _draw(uint256 n) private returns (uint256) {
        _random = uint256(keccak256(abi.encode(_random)));
        return _random % n;
    }
}
