// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {Statements} from "./libraries/Statements.sol";
import {Approval, Grant, Job, MODE_SAMPLE, State, Terms} from "./Types.sol";
import {JOB_EXISTS} from "./Errors.sol";

/// From the client's escrow to a provider whose sessions have the data: open, cancel, accept, start, bind, abort.
/// contracts/SPEC.md §5, §6.
abstract contract Opening is JobStore {
    function open(Terms calldata terms) external payable returns (bytes32 id) {
        _only(terms.client);
        roles.requireOpen(terms.token);
        rules.check(terms);
        id = Statements.job(terms);
        Job storage j = _jobs[id];
        if (j.state != State.None) revert JOB_EXISTS(id);
        j.state = State.Open;
        j.since = uint40(block.timestamp);
        emit JobOpened(id, terms.client, terms.provider, terms.token, terms.price, terms.specDigest);
        _pull(terms.token, terms.price);
    }

    /// The client at any time before acceptance; anyone after acceptBy.
    function cancel(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Open);
        if (block.timestamp <= terms.acceptBy) _only(terms.client);
        _end(id, terms, j, State.Aborted, 0);
    }

    /// @param seedCommit keccak256 of the provider's seed; needed in SAMPLE mode
    /// @param award      the client's signature over Award when the terms name no provider, else empty
    function accept(Terms calldata terms, bytes32 seedCommit, bytes calldata award) external {
        (bytes32 id, Job storage j) = _load(terms, State.Open);
        _inTime(terms.acceptBy);
        if (terms.provider == address(0)) {
            rules.checkProvider(terms, msg.sender);
            _requireClient(terms, Statements.award(id, msg.sender), award);
            j.awardee = msg.sender;
        } else {
            _only(terms.provider);
        }
        j.state = State.Accepted;
        j.since = uint40(block.timestamp);
        if (terms.mode & MODE_SAMPLE != 0) j.seedCommit = seedCommit;
        emit JobAccepted(id, msg.sender, seedCommit);
        _lock(msg.sender, terms.token, terms.stake);
    }

    /// From here on the provider owes a run. Its key, if the Release names one, may seal it.
    function start(Terms calldata terms, Grant calldata g, Approval[] calldata approvals) external {
        (bytes32 id, Job storage j) = _load(terms, State.Accepted);
        address provider = _onlyProvider(terms, j);
        _inTime(uint256(j.since) + terms.windows.start);
        j.state = State.Started;
        j.since = uint40(block.timestamp);
        emit JobStarted(id);
        _bind(id, terms, provider, g, approvals);
    }

    /// A further session of the same job: after a crash, a reboot, or beside the first.
    function bind(Terms calldata terms, Grant calldata g, Approval[] calldata approvals) external {
        (bytes32 id, Job storage j) = _load(terms, State.Started);
        _bind(id, terms, _onlyProvider(terms, j), g, approvals);
    }

    /// Nothing was released in time: whose fault it was cannot be shown, so both get everything back.
    function abort(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Accepted);
        _past(uint256(j.since) + terms.windows.start);
        _end(id, terms, j, State.Aborted, 0);
    }

    function _bind(bytes32 id, Terms calldata terms, address provider, Grant calldata g, Approval[] calldata approvals)
        private
    {
        emit KeyBound(id, g.key, g.session, g.evidence, g.notAfter);
        _keys(terms).bind(id, terms, provider, g, approvals);
    }
}
