// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Lengths in seconds but for drawBlocks; contracts/SPEC.md §5.
struct Windows {
    uint32 start;
    uint32 compute;
    uint32 finality; // before a sample may be drawn: the commit cannot be reorganised any more
    uint32 draw;
    uint32 challenge;
    uint32 prove;
    uint32 provePer;
    uint32 hold; // between the proof that met the last duty and finalize: time to tombstone an unsound verifier
    uint32 reveal;
    uint32 ack;
    uint32 drawBlocks; // the block whose mix decides for a silent client: commit block + drawBlocks
}

/// All that the two sides agree on. The job's identity is keccak256(abi.encode(Terms)).
struct Terms {
    address client;
    address provider; // zero: whoever holds the client's signed Award
    address keyBroker; // signs Release
    address token; // zero: native coin
    bytes32 specDigest;
    bytes32 initialWeights; // border 0
    bytes32 policy;
    bytes32 snpPolicy; // zero: no SNP registration on chain is demanded
    bytes32 planDigest;
    address[] attestors; // ascending
    uint8 needed; // of the attestors, for each key
    bytes4 teeSelector; // of the Keys contract that judges this job's keys
    bytes4[] dutySelectors;
    uint128 price;
    uint128 stake;
    uint128 liveness;
    uint128 bond;
    uint128 bondFee;
    uint128 publishFee; // deposit of each complaint
    uint16 failShareBps;
    uint16 holdbackBps;
    uint32 segments;
    uint32 samples;
    uint8 unit;
    uint16 unitSegments;
    uint8 parts;
    bytes32 providers;
    uint16 mode;
    bytes32 seedCommitClient; // also what makes two equal jobs different
    uint40 acceptBy;
    Windows windows;
}

uint16 constant MODE_TEE = 1;
uint16 constant MODE_FULL = 2;
uint16 constant MODE_SAMPLE = 4;
uint16 constant MODE_OPTIMISTIC = 8;
uint16 constant MODE_REVEAL = 16;
uint16 constant MODE_EARLY = 32;
uint16 constant MODE_MASK = 63;

uint8 constant OUTCOME_COMPLETE = 0;
uint8 constant OUTCOME_RANGE = 1; // segment `upTo` leaves its declared range
uint8 constant OUTCOME_STOPPED = 2; // on the client's request
uint8 constant OUTCOME_EARLY = 3; // by the rule of the spec, sealed

uint256 constant SEGMENTS_MAX = 4000;
uint256 constant DUTY_SELECTORS_MAX = 8;
uint256 constant ATTESTORS_MAX = 16;
uint256 constant BPS = 10_000;

enum State {
    None,
    Open,
    Accepted,
    Started,
    Committed,
    Settled,
    Stopped,
    Aborted,
    Abandoned,
    Undelivered,
    Slashed,
    Voided,
    Unsealed, // the seal was taken away: no verdict on the provider
    Resigned // the provider gave the job back
}

uint16 constant FLAG_SEALED = 1; // an enclave's seal stands for the run
uint16 constant FLAG_STOP = 2; // the client asked to stop
uint16 constant FLAG_UNSEALED = 4; // it stood, and was taken away in the window
uint16 constant FLAG_DUTIES = 8; // segments are or were due: Duties is asked before anybody is paid
uint16 constant FLAG_MISSING = 16; // a complaint is open: the client says the ciphertext cannot be had
uint16 constant FLAG_AVAILABLE = 32; // a complaint was answered by Availability
uint16 constant FLAG_SHOWN = 64; // acknowledged or published: no complaint any more

/// One word, and three that few jobs write.
struct Job {
    State state;
    uint8 outcome;
    uint16 flags;
    uint16 upTo;
    uint40 since; // when the present state began
    uint40 ackUntil;
    uint128 paid;
    bytes32 delivery;
    bytes32 seedCommit; // keccak256 of the provider's seed; SAMPLE only
    address awardee;
}

/// What the provider hands in.
struct Run {
    uint8 outcome;
    bytes32[] borders; // border 0 … border upTo
    bytes32 seedProvider; // SAMPLE only
    bytes32 delivery;
    address[] keys; // settlement keys behind the borders and of the sealer, ascending; empty without a seal
    bytes seal; // teeSelector ‖ r ‖ s ‖ v over Run, or empty
}

/// A Release of the key broker, but for job, provider and policy, which are the job's own.
struct Grant {
    bytes32 dataset;
    bytes32 session;
    address key; // zero: nothing that may seal
    bytes32 evidence;
    bytes32 grant;
    bytes32 nonce;
    uint40 grantedAt;
    uint40 notAfter;
    bytes signature; // r ‖ s ‖ v
}

/// An Appraisal of one attestor about the session and key of a Grant.
struct Approval {
    bytes32 evidence;
    uint40 notAfter;
    bytes signature;
}

/// One committed transition: the two borders and their Merkle paths.
struct Transition {
    bytes32 before;
    bytes32 afterwards;
    bytes32[] pathBefore;
    bytes32[] pathAfter;
}

struct Challenge {
    address challenger;
    uint40 deadline;
}
