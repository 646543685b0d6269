// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {TypedData} from "./TypedData.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {IVerifierRouter} from "./interfaces/IVerifierRouter.sol";
import {ITeeVerifier} from "./interfaces/ITeeVerifier.sol";
import {Ledger} from "./Ledger.sol";
import {TermsRules} from "./TermsRules.sol";
import {Statements} from "./libraries/Statements.sol";
import {
    Challenge,
    FLAG_EXPOSED,
    FLAG_MISSING,
    Job,
    State,
    Terms
} from "./Types.sol";
import {CALLER, JOB_ENDED, JOB_STATE, SIGNATURE, TOO_EARLY, TOO_LATE} from "./Errors.sol";

/// State of the jobs and the one way in which a job ends. Settlement §6, §9.
abstract contract JobStore is Ledger, TypedData {
    IVerifierRouter public immutable router;
    TermsRules public immutable rules;

    mapping(bytes32 job => Job) internal _jobs;
    mapping(bytes32 job => mapping(uint256 word => uint256)) internal _proved;
    mapping(bytes32 job => mapping(uint256 segment => Challenge)) internal _challenges;
    mapping(address key => mapping(address token => uint256)) public exposure;

    constructor(IVerifierRouter router_, TermsRules rules_) TypedData("Settlement") {
        router = router_;
        rules = rules_;
    }

    function jobOf(bytes32 id) external view returns (Job memory) {
        return _jobs[id];
    }

    function challengeOf(bytes32 id, uint256 segment) external view returns (Challenge memory) {
        return _challenges[id][segment];
    }

    function isProved(bytes32 id, uint256 segment) public view returns (bool) {
        return _proved[id][segment >> 8] & (1 << (segment & 255)) != 0;
    }

    function _load(Terms calldata terms, State required) internal view returns (bytes32 id, Job storage j) {
        id = Statements.job(terms);
        j = _jobs[id];
        if (j.state != required) revert JOB_STATE(id, uint8(j.state));
    }

    function _committed(Terms calldata terms) internal view returns (bytes32 id, Job storage j) {
        return _load(terms, State.Committed);
    }

    function _inTime(uint256 until) internal view {
        if (block.timestamp > until) revert TOO_LATE(until);
    }

    function _past(uint256 until) internal view {
        if (block.timestamp <= until) revert TOO_EARLY(until);
    }

    function _loadLive(Terms calldata terms) internal view returns (bytes32 id, Job storage j) {
        id = Statements.job(terms);
        j = _jobs[id];
        if (j.state == State.None) revert JOB_STATE(id, 0);
        if (j.state > State.Committed) revert JOB_ENDED(id, uint8(j.state));
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

    function _requireSignature(address signer, bytes32 structHash, bytes calldata signature) internal view {
        if (!SignatureChecker.isValidSignatureNowCalldata(signer, _typedDigest(structHash), signature)) {
            revert SIGNATURE(signer);
        }
    }

    function _tee(Terms calldata terms) internal view returns (ITeeVerifier) {
        return ITeeVerifier(address(router.verifierOf(terms.teeSelector)));
    }

    function _verifyEnclave(Terms calldata terms, address provider, bytes calldata seal, bytes32 structHash)
        internal
        view
        returns (address key, uint8 tier)
    {
        return _tee(terms).verifyEnclave(seal, _typedDigest(structHash), terms.policy, provider, terms.minTier);
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
        if (flags & FLAG_EXPOSED != 0) exposure[j.enclaveKey][terms.token] -= terms.price;
        if (flags & FLAG_MISSING != 0) _credit(terms.client, terms.token, terms.bondFee);
        _credit(provider, terms.token, earned);
        _credit(terms.client, terms.token, toClient);
        _credit(challenger, terms.token, toChallenger);
        _credit(treasury, terms.token, burnt);
    }
}
