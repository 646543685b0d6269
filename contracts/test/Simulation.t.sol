// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {DUTY_ALL, DUTY_DRAWN, DUTY_SAMPLE, Duty} from "../src/Duties.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {SnpBinding, SnpPolicy} from "../src/interfaces/ISnpRegistry.sol";
import {SnpClaims} from "../src/interfaces/ISnpVerifier.sol";
import {DRAW_NONE, KEY_REVOKED, STAKE_SHORT} from "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {HookToken} from "./HookToken.sol";
import {Vm, vm} from "./Vm.sol";

/// Many jobs at once under random calls and time jumps, with the actors of contracts/SPEC.md §15: a prover that proves
/// one segment per provePer, earliest deadline first; a watcher that acts near the end of each window; an enclave that
/// lies; a quorum that revokes, a revoker that condemns, an owner of an SNP policy that takes its image back,
/// registrations that end, a guardian that tombstones and pauses, a client that never draws; blocks taken back; a
/// contract as provider; native coin, a plain token and one that calls back; offers of true transitions outside the
/// tree and of a false border 0; two challengers of one job; refunds asked for twice. After every action money and
/// safety are recomputed from state.
contract SimulationTest is Fixture {
    struct Life {
        Terms t;
        uint256 wrong; // first false segment, NONE in an honest life
        uint256 upTo;
        bool watched;
        bool silent; // the client never draws
        bool shown; // the key was shown before anybody was credited
        address provider;
        address key;
        uint128 vouched;
        State ended;
    }

    uint256 private constant NONE = type(uint256).max;
    uint256 private constant LIVES = 6;
    uint256 private constant ACTIONS = 24;
    bytes4 private constant FRESH = 0xf0000000;
    bytes4 private constant FRESH_KEYS = 0xefff0000;
    bytes32 private constant IMAGE = keccak256("image");
    bytes32 private constant KEY_REVEALED = keccak256("KeyRevealed(bytes32,bytes32,bytes32)");
    bytes32 private constant CREDITED = keccak256("Credited(address,address,uint256)");

    Life[] private _lives;
    uint256 private _random;
    address private _rival = address(0xC4A2);
    address private _human; // the provider that is no contract
    HookToken private _hook;
    uint256 private _reports;
    uint32 private _selectors;
    string[] private _names;

    /// Printed by `forge test -vv`.
    event log_named_uint(string key, uint256 val);
    mapping(string => uint256) private _count;

    function setUp() public override {
        super.setUp();
        _human = provider;
        _hook = HookToken(deploy("HookToken", ""));
        _hook.reenter(address(settlement), abi.encodeWithSignature("withdraw(address)", address(_hook)));
        roles.allow(address(_hook));
        address[4] memory people = [client, provider, _rival, address(steps)];
        for (uint256 i = 0; i < people.length; ++i) {
            vm.deal(people[i], type(uint128).max);
            token.mint(people[i], type(uint96).max);
            _hook.mint(people[i], type(uint96).max);
            vm.startPrank(people[i]);
            token.approve(address(settlement), type(uint256).max);
            _hook.approve(address(settlement), type(uint256).max);
            vm.stopPrank();
        }
        _hook.mint(challenger, type(uint96).max);
        vm.deal(challenger, type(uint128).max);
        vm.prank(challenger);
        _hook.approve(address(settlement), type(uint256).max);
        registry.setMeasurement(_policy(), IMAGE, true);
    }

    function _policy() private view returns (SnpPolicy memory p) {
        p.owner = address(this);
        (p.validForSeconds, p.nonceBlocks) = (15, 64); // over before most runs are
    }

    /// SIMULATION_ACTIONS random actions in each of four runs; what the gate runs by default takes seconds.
    /// SIMULATION_SEED starts elsewhere, so that a long simulation can be had in parts.
    function test_simulation() public {
        uint256 actions = vm.envOr("SIMULATION_ACTIONS", uint256(2500));
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
        string[42] memory needed = [
            "open", "cancel", "abort", "start", "commit", "commit sealed", "stop", "abandon", "voucher", "challenge",
            "prove", "lapse", "unseal", "refute", "draw", "finalize", "prefix",
            "missing", "available", "acknowledge", "attack refused", "false start refused", "withdraw", "award",
            "pause", "void", "void refused", "stake", "dead verifier", "resign", "bind", "revoked seal refused", "condemn",
            "image", "dead keys", "taken back", "early draw refused", "contract provides", "native coin", "hook token",
            "key shown", "registration over"
        ];
        string memory never;
        for (uint256 i = 0; i < needed.length; ++i) {
            if (_count[needed[i]] == 0) never = string.concat(never, " ", needed[i]);
        }
        require(bytes(never).length == 0, string.concat("never:", never));
        if (!long) return;
        require(_count["watch"] != 0 && _count["undelivered"] != 0, "never: watch or undelivered");
        for (uint8 s = uint8(State.Settled); s <= uint8(State.Resigned); ++s) {
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
        (provider, enclave) = (life.provider, life.key);
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
        else if (action == 9) _revoke(life, t);
        else if (action == 10 || s > State.Committed) _refundAll(t);
        else if (action == 11) _voucher(t);
        else if (action == 12) {
            for (uint256 i = 0; i < _lives.length; ++i) {
                provider = _lives[i].provider;
                _prefix(_lives[i].t);
            }
        }
        else if (action == 13) _withdraw(t);
        else if (action == 14) _deliverAll();
        else if (action == 15) _refute(life, t, s);
        else if (action == 17) _pause(t);
        else if (action == 18) _kill(life, t);
        else if (action == 19) _stake(t);
        else if (action == 20) _condemn(life, t);
        else if (action == 21) _image();
        else if (action == 22) _resign(t, s);
        else if (action == 23) _takeBack();
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
        // A client that never draws, on a chain whose headers nobody can show.
        later(8 days);
        for (uint256 i = 0; i < _lives.length; ++i) this.push(i);
        for (uint256 i = 0; i < _lives.length; ++i) require(stateOf(_lives[i].t) > State.Committed, "stuck");
    }

    function tick10() external {
        _tick(10);
    }

    function push(uint256 i) external {
        Life storage life = _lives[i];
        Terms memory t = life.t;
        State s = stateOf(t);
        (provider, enclave) = (_lives[i].provider, _lives[i].key);
        if (s == State.Open && vm.getBlockTimestamp() > t.acceptBy) settlement.cancel(t);
        _give_up(t, s);
        _finish(life, t, s);
        if (stateOf(t) <= State.Committed) _void(t);
        for (uint256 k = 0; k < t.segments; ++k) _lapse(t, k);
        _checkMoney();
        _checkLives();
    }

    function _open() private {
        uint16[14] memory modes = [
            MODE_OPTIMISTIC, MODE_FULL, MODE_SAMPLE, MODE_TEE, MODE_TEE | MODE_REVEAL, MODE_TEE | MODE_OPTIMISTIC,
            MODE_SAMPLE | MODE_OPTIMISTIC, MODE_TEE | MODE_FULL, MODE_TEE | MODE_REVEAL, MODE_FULL,
            MODE_TEE | MODE_FULL | MODE_REVEAL, MODE_TEE | MODE_SAMPLE, MODE_TEE | MODE_REVEAL | MODE_EARLY,
            MODE_TEE | MODE_SAMPLE | MODE_REVEAL
        ];
        Terms memory t = baseTerms(modes[_draw(modes.length)]);
        t.token = [address(token), address(token), address(0), address(_hook)][_draw(4)];
        provider = _draw(4) == 0 ? address(steps) : _human;
        t.provider = provider;
        t.needed = t.mode & MODE_TEE != 0 ? uint8(_draw(3)) : 0;
        if (t.mode & MODE_TEE != 0 && _draw(3) == 0) t.snpPolicy = registry.policyId(_policy());
        t.price = uint128(1 + _draw(1000));
        t.stake = uint128(_draw(1000));
        if (t.mode & MODE_REVEAL != 0) t.stake += 1;
        t.liveness = uint128(_draw(uint256(t.stake) + 1));
        if (t.mode & MODE_REVEAL != 0 && t.liveness == 0) t.liveness = 1;
        t.publishFee = uint128(1 + _draw(50));
        t.bond = uint128(1 + _draw(100));
        t.bondFee = uint128(1 + _draw(t.bond));
        t.segments = uint32(1 + _draw(6));
        if (t.mode & MODE_SAMPLE != 0) t.samples = uint32(1 + _draw(8));
        if (t.mode & MODE_REVEAL != 0) t.windows.ack = 120;
        if (t.mode & MODE_SAMPLE != 0) t.windows.finality = uint32(_draw(40));
        if (t.mode & (MODE_TEE | MODE_EARLY) == MODE_TEE && _draw(2) == 0) disputable(t);
        if (t.mode & MODE_REVEAL == 0 && _draw(4) == 0) (t.windows.hold, t.holdbackBps) = (60, 10_000);
        t.acceptBy = uint40(vm.getBlockTimestamp() + 1000);
        if (_draw(4) == 0) t.provider = address(0);
        if (t.dutySelectors.length != 0 && _draw(3) == 0) {
            t.dutySelectors[0] = bytes4(uint32(FRESH) + ++_selectors);
            router.add(t.dutySelectors[0], steps);
        }
        if (t.mode & MODE_TEE != 0 && _draw(4) == 0) {
            t.teeSelector = bytes4(uint32(FRESH_KEYS) + ++_selectors);
            router.add(t.teeSelector, steps_(address(keys)));
        }
        open(t);
        _hit("open");
        if (provider != _human) _hit("contract provides");
        if (t.token != address(token)) _hit(t.token == address(0) ? "native coin" : "hook token");
        uint256 wrong = _draw(2) == 0 ? NONE : _draw(t.segments);
        uint256 place = _lives.length;
        for (uint256 i = 0; i < _lives.length; ++i) {
            if (_lives[i].ended != State.None && dutyOf(_lives[i].t).open == 0) place = i;
        }
        if (place == _lives.length) _lives.push();
        Life storage life = _lives[place];
        life.t = t;
        life.wrong = wrong;
        life.upTo = t.segments;
        life.watched = t.windows.challenge != 0;
        life.ended = State.None;
        (life.silent, life.shown, life.vouched) = (_draw(4) == 0, false, 0);
        life.provider = provider;
        _last += 1;
        life.key = vm.addr(_last);
        _secrets[life.key] = _last;
    }

    mapping(address key => uint256 secret) private _secrets;

    function _progress(Life storage life, Terms memory t, State s) private {
        if (s == State.Open) {
            if (_draw(8) == 0 || vm.getBlockTimestamp() > t.acceptBy) return _cancel(t);
            accept(t);
            if (t.provider == address(0)) _hit("award");
        } else if (s == State.Accepted) {
            if (vm.getBlockTimestamp() <= uint256(settlement.jobOf(idOf(t)).since) + 60) {
                // A key that is revoked or condemned by now, or dead Keys, start nothing.
                try this.startNow(t) {
                    _hit("start");
                } catch {}
            }
        } else if (s == State.Started) {
            if (_draw(6) == 0) _bindAnother(life, t);
            if (vm.getBlockTimestamp() <= uint256(settlement.jobOf(idOf(t)).since) + 600) _commit(life, t);
        }
    }

    function startNow(Terms memory t) external {
        if (t.snpPolicy != 0) _attest(enclave);
        start(t);
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
        } else if (t.mode & MODE_EARLY != 0 && choice < 6) {
            outcome = OUTCOME_EARLY;
            life.upTo = _draw(t.segments);
        }
        enclaveSecret = _secrets[life.key];
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
        (,, bool revoked) = keys.factsOf(address(settlement), idOf(t), life.key);
        bool condemned = t.snpPolicy != 0 && registry.isCondemned(life.key, t.snpPolicy);
        vm.prank(provider);
        try settlement.commit(t, r) {
            // I10
            require(!sealed_ || !(revoked || condemned), "a key that had ended sealed");
            _hit(sealed_ ? "commit sealed" : "commit");
            if (sealed_ && t.snpPolicy != 0 && vm.getBlockTimestamp() > registry.registrationOf(life.key, t.snpPolicy).notAfter) {
                _hit("registration over"); // N4: and the seal counted
            }
        } catch {
            if (sealed_ && revoked) _hit("revoked seal refused");
        }
    }

    /// A session after a crash: its key seals instead.
    function _bindAnother(Life storage life, Terms memory t) private {
        if (t.mode & MODE_TEE == 0 || !router.isLive(t.teeSelector)) return;
        _last += 1;
        enclaveSecret = _last;
        address key = vm.addr(enclaveSecret);
        _secrets[key] = enclaveSecret;
        if (t.snpPolicy != 0) _attest(key);
        bind(t, key);
        (life.key, enclave) = (key, key);
        _hit("bind");
    }

    /// SNP evidence of a fresh machine, registered under the policy of this walk.
    function _attest(address key) private {
        SnpPolicy memory p = _policy();
        if (!registry.isAllowed(registry.policyId(p), IMAGE)) registry.setMeasurement(p, IMAGE, true);
        SnpBinding memory b;
        (b.settlementKey, b.provider) = (key, provider);
        b.nonceBlock = vm.getBlockNumber() - 1;
        vm.setBlockhash(b.nonceBlock, "hash");
        SnpClaims memory c;
        (c.product, c.measurement, c.notAfter) = (1, IMAGE, type(uint40).max);
        c.id = keccak256(abi.encode("report", ++_reports));
        c.chip = keccak256(abi.encode("chip of", key));
        (c.reportDataHigh, c.reportDataLow) = snp.dataOf(b, address(registry), "hash");
        snp.tell(abi.encode(_reports), c);
        registry.register(p, b, abi.encode(_reports), "");
    }

    /// The owner of the SNP policy takes its image back: no bound key ends by it.
    function _image() private {
        registry.setMeasurement(_policy(), IMAGE, false);
        _hit("image");
    }

    function _resign(Terms memory t, State s) private {
        if (s != State.Started || _draw(3) != 0) return;
        vm.prank(provider);
        try settlement.resign(t) {
            _hit("resign");
        } catch {}
    }

    /// Blocks are taken back, and what happened in them happens otherwise.
    function _takeBack() private {
        if (_tentative) return;
        uint256 random = _random;
        uint256 before = vm.snapshotState();
        _tentative = true;
        for (uint256 i = 0; i < 3; ++i) this.act();
        vm.revertToStateAndDelete(before);
        _random = uint256(keccak256(abi.encode("another branch", random)));
        _hit("taken back");
    }

    bool private _tentative;
    uint256 private _last = 0xE4C00000;

    function _challenge(Terms memory t, address who, uint256 segment) private returns (bool done) {
        vm.prank(who);
        try settlement.challenge{value: t.token == address(0) ? t.bond : 0}(t, segment) {
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

    function _finish(Life storage life, Terms memory t, State s) private {
        if (s != State.Committed) return;
        Job memory j = settlement.jobOf(idOf(t));
        (bytes32 c, bytes32 k) = j.delivery == 0 ? (bytes32(0), bytes32(0)) : (CIPHERTEXT, REVEAL_KEY);
        // A job whose seal is gone ends unpaid, whatever key is given.
        if (j.delivery != 0 && j.flags & FLAG_UNSEALED == 0) {
            try settlement.finalize(t, c, "wrong key") {
                require(false, "paid for a wrong key");
            } catch {}
        }
        vm.prank(address(settlement));
        (bool met, uint256 lastDuty) = duties.standing(idOf(t), t);
        bool due = met && j.flags & (FLAG_MISSING | FLAG_UNSEALED) == 0 && vm.getBlockTimestamp() > j.ackUntil
            && vm.getBlockTimestamp() > uint256(j.since) + t.windows.challenge
            && vm.getBlockTimestamp() > lastDuty + t.windows.hold;
        vm.recordLogs();
        try settlement.finalize(t, c, k) {
            _hit("finalize");
            life.shown = _isShownFirst();
        } catch {
            require(!due, "N7: nothing may delay this payment");
        }
    }

    function _isShownFirst() private returns (bool) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] == CREDITED) return false;
            if (logs[i].topics[0] == KEY_REVEALED) return true;
        }
        return false;
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
            (provider, enclave) = (life.provider, life.key);
            Job memory j = settlement.jobOf(idOf(t));
            Duty memory d = dutyOf(t);
            if (d.flags & (DUTY_SAMPLE | DUTY_DRAWN) == DUTY_SAMPLE && !life.silent) d = _drawSample(t, d);
            _prove(life, t, d);
            uint256 end = uint256(j.since) + t.windows.challenge;
            if (life.watched && vm.getBlockTimestamp() + 20 > end) {
                if (life.wrong < life.upTo && _challenge(t, challenger, life.wrong)) _hit("watch");
            }
        }
        later(10);
    }

    /// I11: once, and not before the commit is final.
    function _drawSample(Terms memory t, Duty memory d) private returns (Duty memory) {
        try settlement.draw(t, SEED_CLIENT) {
            require(vm.getBlockTimestamp() >= d.drawFrom, "drawn early");
            _hit("draw");
            fails(DRAW_NONE.selector);
            settlement.draw(t, SEED_CLIENT);
        } catch {
            if (vm.getBlockTimestamp() < d.drawFrom) _hit("early draw refused");
        }
        return dutyOf(t);
    }

    /// One proof of a true due segment, the earliest deadline first.
    function _prove(Life storage life, Terms memory t, Duty memory d) private {
        uint256 best = NONE;
        uint256 bestDeadline = NONE;
        for (uint256 i = 0; i < life.upTo; ++i) {
            if (i == life.wrong || isProved(t, i) || !_provable(t)) continue;
            Challenge memory c = challengeOf(t, i);
            uint256 deadline = c.challenger != address(0) ? c.deadline : NONE;
            if (_inSet(t, d, i) && d.setDeadline < deadline) deadline = d.setDeadline;
            if (deadline < bestDeadline) (best, bestDeadline) = (i, deadline);
        }
        if (best == NONE || bestDeadline < vm.getBlockTimestamp()) return;
        discharge(t, borders(t, life.upTo, life.wrong), best);
        _hit("prove");
    }

    function _provable(Terms memory t) private view returns (bool) {
        return t.dutySelectors.length != 0 && router.isLive(t.dutySelectors[0]);
    }

    function _inSet(Terms memory t, Duty memory d, uint256 segment) private view returns (bool) {
        if (d.flags & DUTY_ALL != 0) return true;
        if (d.flags & DUTY_DRAWN == 0) return false;
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

    /// The quorum of a job, attestors or broker, ends its key; now and then the seal is then taken away.
    function _revoke(Life storage life, Terms memory t) private {
        (,, bool revoked) = keys.factsOf(address(settlement), idOf(t), life.key);
        if (!revoked && _draw(3) == 0 && t.mode & MODE_TEE != 0) revokeKey(t, life.key);
        for (uint256 i = 0; i < _lives.length; ++i) _tryUnseal(_lives[i]);
    }

    /// A chip is condemned: of one machine in this walk.
    function _condemn(Life storage life, Terms memory t) private {
        if (t.snpPolicy != 0 && _draw(2) == 0) {
            vm.prank(revoker);
            snp.condemn(keccak256(abi.encode("chip of", life.key)), "advisory");
            _hit("condemn");
        }
        _tryUnseal(life);
    }

    function _tryUnseal(Life storage life) private {
        Terms memory t = life.t;
        Job memory j = settlement.jobOf(idOf(t));
        (,, bool revoked) = keys.factsOf(address(settlement), idOf(t), life.key);
        bool ended = revoked || (t.snpPolicy != 0 && registry.isCondemned(life.key, t.snpPolicy))
            || !router.isLive(t.teeSelector);
        bool open_ = j.state == State.Committed && j.flags & FLAG_SEALED != 0
            && vm.getBlockTimestamp() <= uint256(j.since) + t.windows.challenge;
        try settlement.unseal(t, life.key) {
            require(ended && open_, "a good seal was taken away");
            _hit("unseal");
        } catch {
            require(!(ended && open_), "an ended key still counts");
        }
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
            for (uint256 i = 0; i < _lives.length; ++i) {
                if (idOf(_lives[i].t) == idOf(t)) _lives[i].vouched = cumulative;
            }
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
        address[6] memory people = [client, _human, challenger, _rival, treasury, address(steps)];
        address who = people[_draw(6)];
        uint256 due = settlement.credits(who, t.token);
        address to = _draw(2) == 0 ? who : address(0xA0A0);
        if (t.token == address(0)) to = address(0xA0A0);
        uint256 before = _held(t.token, to);
        vm.prank(who);
        try settlement.withdrawTo(t.token, to) {
            equal(_held(t.token, to) - before, due);
            _hit("withdraw");
        } catch {}
    }

    function _deliverAll() private {
        for (uint256 i = 0; i < _lives.length; ++i) _deliver(_lives[i].t, stateOf(_lives[i].t));
    }

    function _deliver(Terms memory t, State s) private {
        if (s != State.Committed || t.mode & MODE_REVEAL == 0) return;
        uint40 until = uint40(vm.getBlockTimestamp() + 30 days);
        bytes[] memory signatures = new bytes[](1);
        signatures[0] = sign(BROKER_KEY, digest(Statements.availability(idOf(t), CIPHERTEXT, until)));
        bytes32 keyCommit = keccak256(abi.encode(REVEAL_KEY));
        bool asked = settlement.jobOf(idOf(t)).flags & FLAG_MISSING != 0;
        if (_draw(asked ? 4 : 2) == 0) {
            vm.prank(client);
            try settlement.missing{value: t.token == address(0) ? t.publishFee : 0}(t) {
                _hit("missing");
            } catch {}
        } else if (!asked) {
            vm.prank(client);
            try settlement.acknowledge(t) {
                _hit("acknowledge");
            } catch {}
        } else {
            try settlement.available(t, CIPHERTEXT, keyCommit, until, signatures) {
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
        roles.setPaused(true);
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
        roles.setPaused(false);
    }

    /// A verifier of one job dies. Nobody may be slashed for it, and the job must still end.
    function _kill(Life storage life, Terms memory t) private {
        if (t.dutySelectors.length != 0 && uint32(t.dutySelectors[0]) > uint32(FRESH) && _draw(4) == 0 && _provable(t)) {
            vm.prank(guardian);
            router.tombstone(t.dutySelectors[0]);
            life.watched = false;
            _hit("dead verifier");
        }
        if (uint32(t.teeSelector) > uint32(FRESH_KEYS) && uint32(t.teeSelector) < uint32(FRESH) && _draw(4) == 0 && router.isLive(t.teeSelector)) {
            vm.prank(guardian);
            router.tombstone(t.teeSelector);
            _hit("dead keys");
        }
        _void(t);
    }

    function _void(Terms memory t) private {
        bool provable = _provable(t);
        try settlement.void(t) {
            bool undrawn = dutyOf(t).flags & (DUTY_SAMPLE | DUTY_DRAWN) == DUTY_SAMPLE;
            bool seals = router.isLive(t.teeSelector);
            require(!provable || undrawn || (t.mode & MODE_REVEAL != 0 && !seals), "void with a live verifier");
            _hit("void");
        } catch {
            _hit("void refused");
        }
    }

    function _stake(Terms memory t) private {
        uint128 amount = uint128(_draw(1000));
        vm.prank(provider);
        settlement.depositStake{value: t.token == address(0) ? amount : 0}(t.token, amount);
        (uint128 free,) = settlement.stakes(provider, t.token);
        vm.prank(provider);
        settlement.releaseStake(t.token, uint128(_draw(uint256(free) + 1)));
        fails(STAKE_SHORT.selector);
        vm.prank(_rival);
        settlement.releaseStake(t.token, 1);
        _hit("stake");
    }

    /// I1, I2: the contract holds exactly what it owes, in each coin.
    function _checkMoney() private view {
        _checkCoin(address(token));
        _checkCoin(address(0));
        _checkCoin(address(_hook));
    }

    function _held(address coin, address who) private view returns (uint256) {
        return coin == address(0) ? who.balance : HookToken(coin).balanceOf(who);
    }

    function _checkCoin(address coin) private view {
        address[6] memory people = [client, _human, challenger, _rival, treasury, address(steps)];
        uint256 owed;
        for (uint256 i = 0; i < people.length; ++i) owed += settlement.credits(people[i], coin);
        (uint128 free, uint128 locked) = settlement.stakes(_human, coin);
        (uint128 free2, uint128 locked2) = settlement.stakes(address(steps), coin);
        owed += uint256(free) + free2;
        uint256 lockedByJobs;
        for (uint256 i = 0; i < _lives.length; ++i) {
            Terms memory t = _lives[i].t;
            if (t.token != coin) continue;
            Job memory j = settlement.jobOf(idOf(t));
            require(j.paid <= t.price, "paid more than the price");
            owed += uint256(dutyOf(t).open) * t.bond;
            if (j.state == State.None || j.state > State.Committed) continue;
            owed += t.price - j.paid;
            if (j.flags & FLAG_MISSING != 0) owed += t.publishFee;
            if (j.state != State.Open) lockedByJobs += t.stake;
        }
        equal(uint256(locked) + locked2, lockedByJobs);
        equal(_held(coin, address(settlement)), owed + locked + locked2);
    }

    /// I3, I4, I7.
    function _checkLives() private {
        for (uint256 i = 0; i < _lives.length; ++i) {
            Life storage life = _lives[i];
            State s = stateOf(life.t);
            Job memory j = settlement.jobOf(idOf(life.t));
            bool reveal = life.t.mode & MODE_REVEAL != 0;
            // I12: vouchers apart, nobody is credited before the key is shown.
            if (reveal) equal(j.paid, life.vouched);
            if (life.ended != State.None) {
                require(s == life.ended, "an ended job changed");
                continue;
            }
            if (s <= State.Committed) continue;
            life.ended = s;
            _hit(_endOf(s));
            if (reveal && j.delivery != 0 && (s == State.Settled || s == State.Stopped)) {
                require(life.shown, "paid before the key was shown");
                _hit("key shown");
            }
            bool isFalse = life.wrong < life.upTo;
            bool watched = life.watched && life.t.mode & (MODE_TEE | MODE_OPTIMISTIC) != 0 && life.t.dutySelectors.length != 0;
            if (isFalse && (watched || dutyOf(life.t).flags & DUTY_ALL != 0)) {
                require(s != State.Settled && s != State.Stopped, "a false run was paid");
            }
            if (life.wrong == NONE) require(s != State.Slashed, "an honest provider was slashed");
        }
    }

    function _endOf(State s) private pure returns (string memory) {
        string[9] memory names = [
            "Settled", "Stopped", "Aborted", "Abandoned", "Undelivered", "Slashed", "Voided", "Unsealed", "Resigned"
        ];
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
