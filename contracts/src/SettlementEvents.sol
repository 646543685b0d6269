// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// A ledger and a projection of all jobs can be built from these alone. contracts/SPEC.md §16.
interface SettlementEvents {
    event JobOpened(
        bytes32 indexed job,
        address indexed client,
        address indexed provider,
        address token,
        uint256 price,
        bytes32 specDigest
    );
    event JobAccepted(bytes32 indexed job, address indexed provider, bytes32 seedCommit);
    event JobStarted(bytes32 indexed job);
    event KeyBound(bytes32 indexed job, address indexed key, bytes32 session, bytes32 evidence, uint256 notAfter);
    event JobStopRequested(bytes32 indexed job);
    event JobResigned(bytes32 indexed job, uint256 heldSeconds);
    event JobCommitted(
        bytes32 indexed job,
        uint8 outcome,
        bytes32 root,
        bytes32 delivery,
        address sealer,
        address[] keys,
        bytes32[] borders
    );
    event SetDue(bytes32 indexed job, bool all, uint256 deadline);
    event SampleDrawn(bytes32 indexed job, bytes32 seed, bool fromBlock, uint256 deadline);
    event DutyOpened(
        bytes32 indexed job, uint256 indexed segment, address indexed challenger, uint256 deadline, uint256 bond
    );
    event DutyDischarged(bytes32 indexed job, uint256 indexed segment, bytes4 selector, address by);
    event BondRefunded(bytes32 indexed job, uint256 indexed segment, address indexed challenger, uint256 amount);
    /// `cause`: 0 the selector was tombstoned, 1 the key was revoked, 2 its machine was condemned.
    event SealRemoved(bytes32 indexed job, address indexed key, uint8 cause);
    event VoucherPaid(bytes32 indexed job, uint256 cumulative);
    event PrefixPaid(bytes32 indexed job, uint256 segments, uint256 cumulative);
    event CiphertextMissing(bytes32 indexed job, bool second, uint256 answerBy, uint256 deposit);
    event CiphertextAvailable(bytes32 indexed job, bytes32 ciphertextDigest, bool published);
    event ResultAcknowledged(bytes32 indexed job);
    event KeyRevealed(bytes32 indexed job, bytes32 ciphertextDigest, bytes32 key);
    event JobEnded(
        bytes32 indexed job, uint8 state, uint256 toProvider, uint256 toClient, uint256 toChallenger, uint256 burnt
    );
    event Credited(address indexed who, address indexed token, uint256 amount);
    event Withdrawn(address indexed who, address indexed token, address to, uint256 amount);
    event StakeChanged(address indexed provider, address indexed token, uint256 free, uint256 locked);
}
