// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {JobStore} from "./JobStore.sol";
import {Ledger} from "./Ledger.sol";
import {Duties} from "./Duties.sol";
import {Opening} from "./Opening.sol";
import {Running} from "./Running.sol";
import {TermsRules} from "./TermsRules.sol";
import {BlockRandao} from "./BlockRandao.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    BPS,
    FLAG_ANSWERED,
    FLAG_MISSING,
    FLAG_SEALED,
    Job,
    MODE_FULL,
    MODE_REVEAL,
    OUTCOME_COMPLETE,
    OUTCOME_RANGE,
    State,
    Terms
} from "./Types.sol";
import {
    DELIVERY_CLAIMED,
    DELIVERY_KEY,
    DELIVERY_MODE,
    DELIVERY_PENDING,
    DUTY_OPEN,
    TERMS_MODE,
    VERIFIER_LIVE
} from "./Errors.sol";

struct Parameters {
    IVerifierRouter router;
    address governor;
    address guardian;
    address treasury;
    uint256 exposureFactor;
    TermsRules rules;
    BlockRandao randao;
    address[] tokens;
}

/// The one contract that holds money. How jobs end well, and how results are delivered. Settlement §6, §9, §12.
contract Settlement is Opening, Duties {
    constructor(Parameters memory p)
        Ledger(p.governor, p.treasury, p.tokens)
        JobStore(p.router, p.rules)
        Opening(p.guardian)
        Running(p.exposureFactor)
        Duties(p.randao)
    {}

    /// Pays. Anyone, when no duty is open and the windows have passed.
    /// @param ciphertextDigest and `key` open the delivery that the enclave sealed; zero when there is none
    function finalize(Terms calldata terms, bytes32 ciphertextDigest, bytes32 key) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (!_dutiesMet(id, terms, j)) revert DUTY_OPEN();
        if (j.flags & FLAG_MISSING != 0) revert DELIVERY_PENDING();
        uint256 from = _finalFrom(terms, j);
        if (from != 0) _past(from - 1);
        if (j.delivery != 0) {
            if (Statements.delivery(ciphertextDigest, keccak256(abi.encode(key))) != j.delivery) revert DELIVERY_KEY();
            emit KeyRevealed(id, ciphertextDigest, key);
        }
        (State state, uint128 earned) = _earned(terms, j);
        _end(id, terms, j, state, earned, 0, address(0));
    }

    /// The client cannot get the ciphertext; the deposit is one bondFee.
    function missing(Terms calldata terms) external payable {
        (bytes32 id, Job storage j) = _unanswered(terms);
        _inTime(j.ackUntil);
        j.flags |= FLAG_MISSING;
        j.ackUntil = uint40(block.timestamp + terms.windows.ack);
        emit CiphertextMissing(id, j.ackUntil, terms.bondFee);
        _pull(terms.token, terms.bondFee);
    }

    /// m attestors fetched the ciphertext and checked its digest. The client's deposit goes to the provider.
    function available(
        Terms calldata terms,
        bytes32 ciphertextDigest,
        bytes32 keyCommit,
        bytes[] calldata signatures
    ) external {
        (bytes32 id, Job storage j) = _loadMissing(terms, ciphertextDigest, keyCommit);
        _tee(terms).requireQuorum(Statements.availability(id, ciphertextDigest), signatures);
        _answered(id, terms, j, ciphertextDigest);
    }

    /// The provider puts the ciphertext itself on chain: for results that fit one transaction.
    function publish(Terms calldata terms, bytes32 keyCommit, bytes calldata ciphertext) external {
        bytes32 ciphertextDigest = sha256(ciphertext);
        (bytes32 id, Job storage j) = _loadMissing(terms, ciphertextDigest, keyCommit);
        _answered(id, terms, j, ciphertextDigest);
    }

    /// The client has the ciphertext: nobody need wait for the rest of the ack window.
    function acknowledge(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _unanswered(terms);
        j.flags |= FLAG_ANSWERED;
        j.ackUntil = uint40(block.timestamp);
        emit ResultAcknowledged(id);
    }

    /// The ciphertext was asked for and not shown, or the key did not come in time.
    function undelivered(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _committed(terms);
        if (j.delivery == 0) revert DELIVERY_MODE();
        uint256 until;
        if (j.flags & FLAG_MISSING != 0) {
            until = j.ackUntil;
        } else {
            if (!_dutiesMet(id, terms, j)) revert DUTY_OPEN();
            until = _finalFrom(terms, j) + terms.windows.reveal;
        }
        _past(until);
        _end(id, terms, j, State.Undelivered, 0, terms.liveness, address(0));
    }

    /// Every verifier that could make this job good is tombstoned: everything goes back to its depositor. An enclave's
    /// seal makes it good before commit, and after it while no duty is open.
    function void(Terms calldata terms) external {
        (bytes32 id, Job storage j) = _loadLive(terms);
        bool seal = j.state != State.Committed || (j.flags & FLAG_SEALED != 0 && _dutiesMet(id, terms, j));
        if (rules.anyLive(terms, router, seal)) revert VERIFIER_LIVE();
        _end(id, terms, j, State.Voided, 0, 0, address(0));
    }

    /// FULL mode: pays for the first `segments` segments, all proved, less the holdback.
    function claimPrefix(Terms calldata terms, uint256 segments) external {
        (bytes32 id, Job storage j) = _committed(terms);
        address provider = _onlyProvider(terms, j);
        if (terms.mode & MODE_FULL == 0 || j.outcome != OUTCOME_COMPLETE) revert TERMS_MODE(terms.mode);
        for (uint256 word = 0; word << 8 < segments; ++word) {
            uint256 left = segments - (word << 8);
            uint256 mask = left >= 256 ? type(uint256).max : (1 << left) - 1;
            if (_proved[id][word] & mask != mask) revert DUTY_OPEN();
        }
        uint256 gross = uint256(terms.price) * segments / terms.segments;
        uint128 cumulative = uint128(gross * (BPS - terms.holdbackBps) / BPS);
        emit PrefixPaid(id, segments, cumulative);
        _payUpTo(terms, j, provider, cumulative);
    }

    /// When finalize may pay at the earliest, supposing that all duties are met.
    function _finalFrom(Terms calldata terms, Job storage j) private view returns (uint256 from) {
        from = j.since;
        bool settledByProof = j.proved == j.upTo && j.upTo != 0 && j.outcome != OUTCOME_RANGE;
        if (terms.windows.challenge != 0 && !settledByProof) from += uint256(terms.windows.challenge) + 1;
        if (j.lastProof != 0 && uint256(j.lastProof) + terms.windows.hold > from) {
            from = uint256(j.lastProof) + terms.windows.hold;
        }
        if (j.ackUntil > from) from = j.ackUntil;
    }

    function _earned(Terms calldata terms, Job storage j) private view returns (State state, uint128 earned) {
        uint256 due = terms.price;
        state = State.Settled;
        if (j.outcome != OUTCOME_COMPLETE) {
            state = State.Stopped;
            due = due * j.upTo / terms.segments;
            if (j.outcome == OUTCOME_RANGE) due = due * terms.failShareBps / BPS;
        }
        earned = due > j.paid ? uint128(due - j.paid) : 0;
    }

    function _unanswered(Terms calldata terms) private view returns (bytes32 id, Job storage j) {
        (id, j) = _committed(terms);
        _only(terms.client);
        if (j.delivery == 0) revert DELIVERY_MODE();
        if (j.flags & (FLAG_MISSING | FLAG_ANSWERED) != 0) revert DELIVERY_CLAIMED();
    }

    function _loadMissing(Terms calldata terms, bytes32 ciphertextDigest, bytes32 keyCommit)
        private
        view
        returns (bytes32 id, Job storage j)
    {
        (id, j) = _committed(terms);
        if (j.flags & FLAG_MISSING == 0) revert DELIVERY_MODE();
        _inTime(j.ackUntil);
        if (Statements.delivery(ciphertextDigest, keyCommit) != j.delivery) revert DELIVERY_KEY();
    }

    function _answered(bytes32 id, Terms calldata terms, Job storage j, bytes32 ciphertextDigest) private {
        j.flags = (j.flags & ~FLAG_MISSING) | FLAG_ANSWERED;
        j.ackUntil = uint40(block.timestamp);
        emit CiphertextAvailable(id, ciphertextDigest);
        _credit(_providerOf(terms, j), terms.token, terms.bondFee);
    }
}
