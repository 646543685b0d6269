// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {JobStore} from "./JobStore.sol";
import {Statements} from "./libraries/Statements.sol";
import {Job, MODE_SAMPLE, MODE_TEE, State, Terms} from "./Types.sol";
import {CALLER, JOB_EXISTS, PAUSED, TERMS_MODE, TERMS_TOKEN, TOO_EARLY, TOO_LATE} from "./Errors.sol";

/// From the client's escrow to a provider who holds the data: open, cancel, accept, start, abort. Settlement §5, §6.
abstract contract Opening is JobStore {
    address public immutable guardian; // may refuse new jobs, nothing else
    bool public paused;

    constructor(address guardian_) {
        guardian = guardian_;
    }

    function setPaused(bool paused_) external {
        _only(guardian);
        paused = paused_;
        emit PauseSet(paused_);
    }

    function open(Terms calldata terms) external payable returns (bytes32 id) {
        if (paused) revert PAUSED();
        _only(terms.client);
        if (!allowed[terms.token]) revert TERMS_TOKEN(terms.token);
        rules.check(terms, router);
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
        _end(id, terms, j, State.Aborted, 0, 0, address(0));
    }

    /// @param seedCommit keccak256 of the provider's seed; needed in SAMPLE mode
    /// @param award      the client's signature over Award when the terms name no provider, else empty
    function accept(Terms calldata terms, bytes32 seedCommit, bytes calldata award) external {
        (bytes32 id, Job storage j) = _load(terms, State.Open);
        _inTime(terms.acceptBy);
        if (terms.provider == address(0)) {
            _requireSignature(terms.client, Statements.award(id, msg.sender), award);
            j.awardee = msg.sender;
        } else {
            _only(terms.provider);
        }
        j.state = State.Accepted;
        j.since = uint40(block.timestamp);
        if (terms.mode & MODE_SAMPLE != 0) j.seed = seedCommit;
        emit JobAccepted(id, msg.sender, seedCommit);
        _lock(msg.sender, terms.token, terms.stake);
    }

    /// From here on the provider owes a run.
    /// @param signer client or key broker, whose signature over Release is given; zero: `authority` is instead a
    ///               TeeSeal over Release by a live enclave, its receipt that the shards match the data root
    function start(
        Terms calldata terms,
        bytes32 enclaveKey,
        bytes32 shardsDigest,
        address signer,
        bytes calldata authority
    ) external {
        (bytes32 id, Job storage j) = _load(terms, State.Accepted);
        address provider = _onlyProvider(terms, j);
        uint256 until = uint256(j.since) + terms.windows.start;
        _inTime(until);
        bytes32 release = Statements.release(id, enclaveKey, shardsDigest);
        if (signer == address(0)) {
            if (terms.mode & MODE_TEE == 0) revert TERMS_MODE(terms.mode);
            _verifyEnclave(terms, provider, authority, release);
        } else {
            if (signer != terms.client && signer != terms.keyBroker) revert CALLER(terms.client, signer);
            _requireSignature(signer, release, authority);
        }
        j.state = State.Started;
        j.since = uint40(block.timestamp);
        emit JobStarted(id, enclaveKey, shardsDigest);
    }

    /// Nothing was released in time: whose fault it was cannot be shown, so both get everything back.
    function abort(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _load(terms, State.Accepted);
        uint256 until = uint256(j.since) + terms.windows.start;
        _past(until);
        _end(id, terms, j, State.Aborted, 0, 0, address(0));
    }
}
