// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Role} from "../src/interfaces/IRoles.sol";
import {Statements} from "../src/libraries/Statements.sol";
import "../src/Errors.sol";
import "../src/Types.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";
import {Wallet} from "./Wallet.sol";

/// Keeps a hundredth of every transfer.
contract FeeToken is ERC20("Fee", "FEE") {
    function mint(address who, uint256 amount) external {
        _mint(who, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (from != address(0) && to != address(0)) super._update(to, address(0), value / 100);
    }
}

/// Credits itself and then shows the code of a genuine contract.
contract Planted {
    mapping(address who => mapping(address token => uint256)) private _first;

    constructor(address mallory, bytes memory runtime) {
        _first[mallory][address(0)] = 100 ether;
        assembly {
            return(add(runtime, 32), mload(runtime))
        }
    }
}

/// Attacks by roles, tokens, accounts and order of transactions that once ran or were read.
contract FindingsPartiesTest is Fixture {
    uint256 private constant NONE = type(uint256).max;
    bytes32 private constant KEY_COMMIT = keccak256(abi.encode(REVEAL_KEY));

    function _create2(bytes memory init, bytes32 salt) private returns (address made) {
        assembly {
            made := create2(0, add(init, 32), mload(init), salt)
        }
        require(made != address(0), "not made");
    }

    function _addressOf(bytes memory init, bytes32 salt) private view returns (address) {
        return address(
            uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, keccak256(init)))))
        );
    }

    function _init(string memory name, bytes memory args) private view returns (bytes memory) {
        return abi.encodePacked(vm.getCode(string.concat(name, ".sol:", name)), args);
    }

    /// The same runtime with credits planted by its own init code stands at an address that no expected file has.
    function test_S_H5_planted_storage_has_another_address() public {
        bytes memory genuine = _init("Delivery", "");
        address expected = _addressOf(genuine, "salt");
        address planted = deploy("Planted", "FindingsParties.t.sol", abi.encode(client, address(delivery).code));
        require(planted.codehash == address(delivery).codehash, "the runtime is the genuine one");
        bytes memory other =
            abi.encodePacked(vm.getCode("FindingsParties.t.sol:Planted"), abi.encode(client, address(delivery).code));
        require(_addressOf(other, "salt") != expected, "planted storage at the genuine address");
        require(_create2(genuine, "salt") == expected, "the genuine one");
    }

    /// Each contract takes only contracts before it: all addresses follow from init code, arguments and salt.
    function test_S_H5_every_address_follows_from_those_before_it() public {
        address[] memory tokens = new address[](1);
        bytes memory r = _init("Roles", abi.encode(client, guardian, treasury, revoker, tokens));
        bytes memory v = _init("VerifierRouter", abi.encode(_addressOf(r, 0)));
        bytes memory b = _init("BlockRandao", "");
        bytes memory d = _init("Duties", abi.encode(_addressOf(v, 0), _addressOf(b, 0)));
        bytes memory t = _init(
            "TermsRules", abi.encode(_addressOf(v, 0), _addressOf(b, 0), uint32(10), uint32(0), uint32(1))
        );
        bytes memory y = _init("Delivery", "");
        bytes memory s = _init(
            "Settlement",
            abi.encode(_addressOf(r, 0), _addressOf(v, 0), _addressOf(t, 0), _addressOf(d, 0), _addressOf(y, 0))
        );
        address expected = _addressOf(s, 0);
        bytes[7] memory all = [r, v, b, d, t, y, s];
        for (uint256 i = 0; i < all.length; ++i) _create2(all[i], 0);
        require(expected.code.length != 0, "Settlement stands elsewhere");
    }

    /// A provider that is a contract: what anyone needs of a run is in the event, not in the transaction's calldata.
    function test_S_M15_borders_are_in_the_event() public {
        Wallet wallet = Wallet(payable(deploy("Wallet", abi.encode(vm.addr(0x3A11)))));
        provider = address(wallet);
        token.mint(provider, 1000 ether);
        wallet.call(address(token), 0, abi.encodeCall(token.approve, (address(settlement), type(uint256).max)));
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        open(t);
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.depositStake, (t.token, t.stake)));
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.accept, (t, 0, "")));
        Grant memory g = grant(t, address(0));
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.start, (t, g, new Approval[](0))));
        bytes32[] memory b = borders(t, 4, 2);
        vm.recordLogs();
        wallet.call(address(settlement), 0, abi.encodeCall(settlement.commit, (t, unsealed(t, b, 0))));
        Vm.Log memory log = vm.getRecordedLogs()[0];
        (,,,,, bytes32[] memory told) =
            abi.decode(log.data, (uint8, bytes32, bytes32, address, address[], bytes32[]));
        require(keccak256(abi.encode(told)) == keccak256(abi.encode(b)), "other borders");
    }

    function test_S_M14_roles_pass_on_in_two_steps() public {
        Role[4] memory all = [Role.Guardian, Role.Treasury, Role.Revoker, Role.Governor];
        for (uint256 i = 0; i < all.length; ++i) {
            address next = address(uint160(0x111 + i));
            fails(ROLE_NONE.selector);
            roles.take(all[i]);
            fails(CALLER.selector);
            vm.prank(client);
            roles.propose(all[i], next);
            roles.propose(all[i], next);
            later(48 hours - 1);
            fails(TOO_EARLY.selector);
            vm.prank(next);
            roles.take(all[i]);
            later(1);
            fails(CALLER.selector);
            vm.prank(client);
            roles.take(all[i]);
            if (all[i] != Role.Treasury) vm.prank(next);
            roles.take(all[i]);
            require(roles.holderOf(all[i]) == next, "not passed on");
        }
        fails(CALLER.selector);
        roles.allow(client);
    }

    function test_S_L5_attestors_are_those_of_the_terms_however_often_they_change() public {
        for (uint256 i = 0; i < 300; ++i) {
            Terms memory t = baseTerms(MODE_TEE);
            t.attestors = only(address(uint160(0xA77E0000 + i)));
            rules.check(t);
        }
    }

    function test_S_L6_a_token_that_gives_less_is_refused_and_one_can_be_taken_off_the_list() public {
        FeeToken fee = FeeToken(deploy("FeeToken", "FindingsParties.t.sol", ""));
        roles.allow(address(fee));
        fee.mint(client, 1000 ether);
        vm.prank(client);
        fee.approve(address(settlement), type(uint256).max);
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        t.token = address(fee);
        fails(PULLED.selector);
        vm.prank(client);
        settlement.open(t);
        fails(PULLED.selector);
        vm.prank(client);
        settlement.depositStake(address(fee), 1 ether);
        Terms memory running = baseTerms(MODE_OPTIMISTIC);
        Terms memory late = baseTerms(MODE_OPTIMISTIC);
        committed(running, NONE);
        fails(CALLER.selector);
        vm.prank(client);
        roles.disallow(address(token));
        roles.disallow(address(token));
        fails(TERMS_TOKEN.selector);
        vm.prank(client);
        settlement.open(late);
        later(201);
        settlement.finalize(running, 0, 0);
        vm.prank(provider);
        settlement.withdraw(address(token));
    }

    function test_S_L7_a_creditor_that_cannot_receive_names_another() public {
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        (t.token, t.client) = (address(0), address(steps));
        vm.deal(address(steps), t.price);
        open(t);
        vm.startPrank(address(steps));
        settlement.cancel(t);
        fails(TRANSFER.selector);
        settlement.withdraw(address(0));
        fails(TRANSFER.selector);
        settlement.withdrawTo(address(0), address(0));
        settlement.withdrawTo(address(0), address(0xBEEF));
        vm.stopPrank();
        equal(address(0xBEEF).balance, t.price);
        fails(NOTHING_DUE.selector);
        vm.prank(challenger);
        settlement.withdrawTo(address(0), challenger);
    }

    function test_S_L9_nobody_stands_on_both_sides() public {
        for (uint256 i = 0; i < 3; ++i) {
            Terms memory t = baseTerms(MODE_TEE);
            address both = i == 0 ? client : i == 1 ? broker : attestors[1];
            t.provider = both;
            fails(TERMS_PARTY.selector);
            rules.check(t);
            t.provider = address(0);
            open(t);
            bytes memory award = sign(CLIENT_KEY, digest(Statements.award(idOf(t), both)));
            fails(TERMS_PARTY.selector);
            vm.prank(both);
            settlement.accept(t, 0, award);
        }
        Terms memory none = baseTerms(MODE_FULL);
        none.keyBroker = address(0);
        fails(TERMS_PARTY.selector);
        rules.check(none);
        none.keyBroker = client;
        rules.check(none);
    }

    function test_S_L9_what_a_delivery_costs_is_not_nothing() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL);
        t.publishFee = 0;
        fails(TERMS_PUBLISH.selector);
        rules.check(t);
        t.publishFee = 1;
        t.liveness = 0;
        fails(TERMS_LIVENESS.selector);
        rules.check(t);
        for (uint256 i = 0; i < 4; ++i) {
            address[4] memory holders = [client, client, client, client];
            holders[i] = address(0);
            vm.expectRevert();
            this.rolesOf(holders);
        }
    }

    function rolesOf(address[4] memory h) external returns (address) {
        return deploy("Roles", abi.encode(h[0], h[1], h[2], h[3], new address[](0)));
    }

    function test_S_L14_what_nobody_is_owed_nobody_takes() public {
        token.mint(address(settlement), 7 ether);
        vm.deal(address(settlement), 7 ether);
        Terms memory t = baseTerms(MODE_OPTIMISTIC);
        committed(t, NONE);
        later(201);
        settlement.finalize(t, 0, 0);
        vm.startPrank(provider);
        settlement.releaseStake(t.token, t.stake);
        settlement.withdraw(t.token);
        vm.stopPrank();
        equal(token.balanceOf(address(settlement)), 7 ether);
    }

    /// Every entry of Keys, by accounts that the terms do not name, with anybody's signatures but theirs.
    function testFuzz_N3_strangers_change_nothing_of_a_jobs_keys(uint256 secret, address key, bytes32 reason) public {
        secret = 1 + secret % (type(uint128).max);
        vm.assume(vm.addr(secret) != broker && key != address(0));
        for (uint256 i = 0; i < 3; ++i) vm.assume(vm.addr(secret) != attestors[i]);
        Terms memory t = baseTerms(MODE_TEE);
        started(t);
        bytes32 id = idOf(t);
        bytes[] memory s = new bytes[](1);
        s[0] = sign(secret, digest(Statements.revocation(id, key, reason)));
        Grant memory g = grantBy(secret, t, key, provider);
        Approval[] memory a = approvals(t, g);
        vm.startPrank(vm.addr(secret));
        fails(QUORUM_SIGNER.selector);
        keys.revoke(address(settlement), t, key, reason, s);
        fails(SIGNATURE.selector);
        keys.bind(id, t, provider, g, a); // the domain is the caller's
        vm.stopPrank();
        _sealRefused(t, vm.addr(secret));
        (bool isBound, bool isSealed, bool isRevoked) = keys.factsOf(address(settlement), id, key);
        require(!isRevoked && !isSealed && isBound == (key == enclave), "changed");
        (isBound, isSealed, isRevoked) = keys.factsOf(address(settlement), id, enclave);
        require(isBound && !isSealed && !isRevoked, "changed");
    }

    function _sealRefused(Terms memory t, address who) private {
        Run memory r = sealedRun(t, borders(t, 4, NONE), 0);
        bytes memory call = abi.encodeCall(
            keys.sealer, (idOf(t), t.teeSelector, t.snpPolicy, abi.encode(idOf(t)), r.keys, r.seal)
        );
        vm.prank(who);
        (bool ok,) = address(keys).call(call);
        require(!ok, "a stranger sealed");
    }

    /// When finalize may pay, no other call by anybody comes before it.
    function test_N8_nothing_front_runs_the_key() public {
        Terms memory t = baseTerms(MODE_TEE | MODE_REVEAL | MODE_OPTIMISTIC);
        committed(t, NONE);
        later(201);
        revoke(t);
        bytes4 selector = keys.SELECTOR();
        vm.startPrank(guardian);
        router.tombstone(STEP);
        router.tombstone(selector);
        roles.setPaused(true);
        vm.stopPrank();
        roles.disallow(t.token);
        bytes[] memory calls = new bytes[](13);
        calls[0] = abi.encodeCall(settlement.missing, (t));
        calls[1] = abi.encodeCall(settlement.unseal, (t, enclave));
        calls[2] = abi.encodeCall(settlement.void, (t));
        calls[3] = abi.encodeCall(settlement.undelivered, (t));
        calls[4] = abi.encodeCall(settlement.challenge, (t, 0));
        calls[5] = abi.encodeCall(settlement.lapse, (t, 0, 0));
        calls[6] = abi.encodeCall(settlement.resign, (t));
        calls[7] = abi.encodeCall(settlement.abandon, (t));
        calls[8] = abi.encodeCall(settlement.cancel, (t));
        calls[9] = abi.encodeCall(settlement.stop, (t));
        calls[10] = abi.encodeCall(settlement.published, (t, CIPHERTEXT, KEY_COMMIT));
        calls[11] = abi.encodeCall(settlement.claimPrefix, (t, 4));
        calls[12] = abi.encodeCall(settlement.refute, (t, 0, new bytes32[](0), 0, ""));
        address[4] memory people = [client, provider, challenger, broker];
        for (uint256 i = 0; i < calls.length; ++i) {
            for (uint256 k = 0; k < people.length; ++k) {
                vm.prank(people[k]);
                (bool ok,) = address(settlement).call(calls[i]);
                require(!ok, "a call came before finalize");
            }
        }
        vm.prank(client);
        settlement.acknowledge(t); // says only that nobody need wait
        settlement.finalize(t, CIPHERTEXT, REVEAL_KEY);
        equal(credit(provider, t), t.price);
    }
}
