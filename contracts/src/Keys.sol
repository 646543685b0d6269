// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IKeys, KeyEnd} from "./interfaces/IKeys.sol";
import {ISnpRegistry} from "./interfaces/ISnpRegistry.sol";
import {Signatures} from "./libraries/Signatures.sol";
import {Statements} from "./libraries/Statements.sol";
import {Approval, Grant, MODE_REVEAL, Terms} from "./Types.sol";
import {
    APPROVALS,
    GRANT_EXPIRED,
    GRANT_KEY,
    KEY_BOUND,
    KEY_CONDEMNED,
    KEY_ORDER,
    KEY_REVOKED,
    KEY_UNBOUND,
    SEAL_LENGTH,
    SEAL_SELECTOR,
    SEAL_SIGNER
} from "./Errors.sol";

/// Which settlement keys may seal which job: those that the job's own broker released to sessions of this job. What ends
/// one is a revocation by the job's quorum or a condemnation of its machine, never time. contracts/SPEC.md §10.
contract Keys is IKeys {
    bytes4 public constant SELECTOR = bytes4(keccak256("veritrain/tee/1"));
    uint256 private constant SEAL_BYTES = 69;

    uint8 private constant BOUND = 1;
    uint8 private constant SEALED = 2; // among the keys of the run that was committed
    uint8 private constant REVOKED = 4;

    ISnpRegistry public immutable registry;

    mapping(address settlement => mapping(bytes32 job => mapping(address key => uint8))) private _facts;

    event KeyRevoked(address indexed settlement, bytes32 indexed job, address indexed key, bytes32 reason);

    constructor(ISnpRegistry registry_) {
        registry = registry_;
    }

    /// @inheritdoc IKeys
    function isKeys() external pure returns (bool) {
        return true;
    }

    /// @inheritdoc IKeys
    function bind(bytes32 job, Terms calldata terms, address provider, Grant calldata g, Approval[] calldata approvals)
        external
    {
        if (block.timestamp > g.notAfter) revert GRANT_EXPIRED(g.notAfter);
        bytes32 release = Statements.release(job, provider, terms.policy, g);
        Signatures.requireSigner(Statements.digest(msg.sender, release), g.signature, terms.keyBroker);
        if (g.key == address(0)) {
            bool proofs = terms.dutySelectors.length != 0 && terms.mode & MODE_REVEAL == 0;
            if (!proofs || g.session != 0) revert GRANT_KEY(g.key, g.session);
            if (approvals.length != 0) revert APPROVALS(0, approvals.length);
            return;
        }
        uint8 facts = _facts[msg.sender][job][g.key];
        if (facts & REVOKED != 0) revert KEY_REVOKED(g.key);
        if (facts & BOUND != 0) revert KEY_BOUND(g.key);
        _requireApprovals(job, terms, provider, g, approvals);
        if (terms.snpPolicy != 0) registry.requireLive(g.key, terms.snpPolicy, provider);
        _facts[msg.sender][job][g.key] = BOUND;
    }

    /// @inheritdoc IKeys
    function sealer(
        bytes32 job,
        bytes4 selector,
        bytes32 snpPolicy,
        bytes calldata run,
        address[] calldata keys,
        bytes calldata seal
    ) external returns (address key) {
        if (seal.length != SEAL_BYTES) revert SEAL_LENGTH(seal.length);
        if (bytes4(seal[:4]) != selector) revert SEAL_SELECTOR(bytes4(seal[:4]));
        bytes32 statement = keccak256(bytes.concat(run, Statements.keysOf(keys)));
        key = Signatures.recover(Statements.digest(msg.sender, statement), seal[4:]);
        bool isAmong;
        address last;
        for (uint256 i = 0; i < keys.length; ++i) {
            address k = keys[i];
            if (k <= last) revert KEY_ORDER(k);
            last = k;
            isAmong = isAmong || k == key;
            uint8 facts = _facts[msg.sender][job][k];
            if (facts & REVOKED != 0) revert KEY_REVOKED(k);
            if (facts & BOUND == 0) revert KEY_UNBOUND(k);
            if (_isCondemned(snpPolicy, k)) revert KEY_CONDEMNED(k);
            _facts[msg.sender][job][k] = facts | SEALED;
        }
        if (!isAmong) revert SEAL_SIGNER(key);
    }

    /// @inheritdoc IKeys
    function endOf(bytes32 job, bytes32 snpPolicy, address key) external view returns (KeyEnd) {
        uint8 facts = _facts[msg.sender][job][key];
        if (facts & SEALED == 0) revert KEY_UNBOUND(key);
        if (facts & REVOKED != 0) return KeyEnd.Revoked;
        return _isCondemned(snpPolicy, key) ? KeyEnd.Condemned : KeyEnd.None;
    }

    /// @inheritdoc IKeys
    function revoke(
        address settlement,
        Terms calldata terms,
        address key,
        bytes32 reason,
        bytes[] calldata signatures
    ) external {
        bytes32 job = Statements.job(terms);
        bytes32 digest = Statements.digest(settlement, Statements.revocation(job, key, reason));
        Signatures.requireQuorum(terms, digest, signatures, true);
        uint8 facts = _facts[settlement][job][key];
        if (facts & REVOKED != 0) revert KEY_REVOKED(key);
        _facts[settlement][job][key] = facts | REVOKED;
        emit KeyRevoked(settlement, job, key, reason);
    }

    function factsOf(address settlement, bytes32 job, address key)
        external
        view
        returns (bool isBound, bool isSealed, bool isRevoked)
    {
        uint8 facts = _facts[settlement][job][key];
        return (facts & BOUND != 0, facts & SEALED != 0, facts & REVOKED != 0);
    }

    function _requireApprovals(
        bytes32 job,
        Terms calldata terms,
        address provider,
        Grant calldata g,
        Approval[] calldata approvals
    ) private view {
        if (approvals.length != terms.needed) revert APPROVALS(terms.needed, approvals.length);
        uint256 place;
        for (uint256 i = 0; i < approvals.length; ++i) {
            Approval calldata a = approvals[i];
            if (block.timestamp > a.notAfter) revert GRANT_EXPIRED(a.notAfter);
            bytes32 appraisal =
                Statements.appraisal(job, provider, g.session, g.key, terms.policy, a.evidence, a.notAfter);
            address signer = Signatures.recover(Statements.digest(msg.sender, appraisal), a.signature);
            place = Signatures.placeOf(terms.attestors, place, signer) + 1;
        }
    }

    function _isCondemned(bytes32 snpPolicy, address key) private view returns (bool) {
        return snpPolicy != 0 && registry.isCondemned(key, snpPolicy);
    }
}
