// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Delivery} from "./Delivery.sol";
import {Duties} from "./Duties.sol";
import {Ledger} from "./Ledger.sol";
import {Roles} from "./Roles.sol";
import {IKeys} from "./interfaces/IKeys.sol";
import {ITermsRules} from "./interfaces/ITermsRules.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {Statements} from "./libraries/Statements.sol";
import {FLAG_MISSING, Job, State, Terms} from "./Types.sol";
import {CALLER, JOB_ENDED, JOB_STATE, TOO_EARLY, TOO_LATE} from "./Errors.sol";

/// The contracts beside a Settlement, in the order in which they are deployed.
struct Parameters {
    Roles roles;
    IVerifierRouter router;
    ITermsRules rules;
    Duties duties;
    Delivery delivery;
}

/// State of the jobs and the one way in which a job ends. contracts/SPEC.md §6, §9.
abstract contract JobStore is Ledger {
    IVerifierRouter public immutable router;
    ITermsRules public immutable rules;
    Duties public immutable duties;
    Delivery public immutable delivery;

    mapping(bytes32 job => Job) internal _jobs;

    constructor(Parameters memory p) Ledger(p.roles) {
        (router, rules, duties, delivery) = (p.router, p.rules, p.duties, p.delivery);
    }

    function jobOf(bytes32 id) external view returns (Job memory) {
        return _jobs[id];
    }

    function _load(Terms calldata terms, State required) internal view returns (bytes32 id, Job storage j) {
        id = Statements.job(terms);
        j = _jobs[id];
        if (j.state != required) revert JOB_STATE(id, uint8(j.state));
    }

    function _committed(Terms calldata terms) internal view returns (bytes32 id, Job storage j) {
        return _load(terms, State.Committed);
    }

    /// A job between `from` and the end.
    function _loadLive(Terms calldata terms, State from) internal view returns (bytes32 id, Job storage j) {
        id = Statements.job(terms);
        j = _jobs[id];
        if (j.state < from) revert JOB_STATE(id, uint8(j.state));
        if (j.state > State.Committed) revert JOB_ENDED(id, uint8(j.state));
    }

    function _inTime(uint256 until) internal view {
        if (block.timestamp > until) revert TOO_LATE(until);
    }

    function _past(uint256 until) internal view {
        if (block.timestamp <= until) revert TOO_EARLY(until);
    }

    function _providerOf(Terms calldata terms, Job storage j) internal view returns (address) {
        return terms.provider == address(0) ? j.awardee : terms.provider;
    }

    function _onlyProvider(Terms calldata terms, Job storage j) internal view returns (address provider) {
        provider = _providerOf(terms, j);
        _only(provider);
    }

    function _only(address who) internal view {
        if (msg.sender != who) revert CALLER(who, msg.sender);
    }

    /// The client may be a contract: ERC-1271.
    function _requireClient(Terms calldata terms, bytes32 structHash, bytes calldata signature) internal view {
        rules.requireSignature(terms.client, structHash, signature);
    }

    /// Reverts when the guardian has tombstoned it.
    function _keys(Terms calldata terms) internal view returns (IKeys) {
        return IKeys(address(router.verifierOf(terms.teeSelector)));
    }

    function _due(bytes32 id, bool all, uint256 deadline) internal {
        emit SetDue(id, all, deadline);
    }

    function _end(bytes32 id, Terms calldata terms, Job storage j, State state, uint128 earned) internal {
        _end(id, terms, j, state, earned, 0, address(0));
    }

    /// Ends a live job. `earned` of the unpaid price goes to the provider, the rest to the client; `lost` of the stake
    /// is divided: Slashed gives the challenger a third (or, without one, nobody) and the treasury what remains, any
    /// other end gives all of it to the client. The last receiver takes the rounding.
    function _end(
        bytes32 id,
        Terms calldata terms,
        Job storage j,
        State state,
        uint128 earned,
        uint128 lost,
        address challenger
    ) internal {
        bool staked = j.state != State.Open;
        uint16 flags = j.flags;
        address provider = _providerOf(terms, j);
        j.state = state;

        uint256 rest = terms.price - j.paid;
        uint256 toClient = rest - earned;
        uint256 toChallenger;
        uint256 burnt;
        if (state == State.Slashed) {
            uint256 share = challenger == address(0) ? lost / 2 : lost / 3;
            if (challenger != address(0)) toChallenger = share;
            toClient += share;
            burnt = lost - share - toChallenger;
        } else {
            toClient += lost;
        }
        emit JobEnded(id, uint8(state), earned, toClient, toChallenger, burnt);

        if (staked) _unlock(provider, terms.token, terms.stake, lost);
        if (flags & FLAG_MISSING != 0) _credit(terms.client, terms.token, terms.publishFee);
        _credit(provider, terms.token, earned);
        _credit(terms.client, terms.token, toClient);
        _credit(challenger, terms.token, toChallenger);
        if (burnt != 0) _credit(roles.treasury(), terms.token, burnt);
    }
}
