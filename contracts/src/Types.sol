// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Lengths in seconds; settlement §5.
struct Windows {
    uint32 start;
    uint32 compute;
    uint32 draw;
    uint32 challenge;
    uint32 prove;
    uint32 provePer;
    uint32 hold; // between the last proof and finalize: time to tombstone an unsound verifier
    uint32 reveal;
    uint32 ack;
}

/// All that the two sides agree on. The job's identity is keccak256(abi.encode(Terms)).
struct Terms {
    address client;
    address provider; // zero: whoever holds the client's signed Award
    address keyBroker; // signs Release beside the client; zero: the client alone
    address token; // zero: native coin
    bytes32 specDigest;
    bytes32 initialWeights; // border 0
    bytes32 policy;
    uint8 minTier;
    bytes4 teeSelector;
    bytes4[] dutySelectors;
    uint128 price;
    uint128 stake;
    uint128 liveness;
    uint128 bond;
    uint128 bondFee;
    uint16 failShareBps;
    uint16 holdbackBps;
    uint32 segments;
    uint32 samples;
    uint8 mode;
    bytes32 seedCommitClient; // also what makes two equal jobs different
    uint40 acceptBy;
    Windows windows;
}

uint8 constant MODE_TEE = 1;
uint8 constant MODE_FULL = 2;
uint8 constant MODE_SAMPLE = 4;
uint8 constant MODE_OPTIMISTIC = 8;
uint8 constant MODE_REVEAL = 16;
uint8 constant MODE_MASK = 31;

uint8 constant OUTCOME_COMPLETE = 0;
uint8 constant OUTCOME_RANGE = 1; // segment `upTo` leaves its declared range
uint8 constant OUTCOME_STOPPED = 2; // on the client's request

uint256 constant SEGMENTS_MAX = 4000;
uint256 constant DUTY_SELECTORS_MAX = 8;
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
    Voided
}

uint16 constant FLAG_SEALED = 1; // an enclave's seal stands for the run
uint16 constant FLAG_STOP = 2; // the client asked to stop
uint16 constant FLAG_DRAWN = 4;
uint16 constant FLAG_ALL_DUE = 8;
uint16 constant FLAG_SAMPLE_DUE = 16;
uint16 constant FLAG_MISSING = 32; // the client says the ciphertext cannot be had
uint16 constant FLAG_ANSWERED = 64;
uint16 constant FLAG_EXPOSED = 128; // counted against the enclave key's exposure

struct Job {
    State state;
    uint8 outcome;
    uint16 flags;
    uint16 upTo;
    uint16 openDuties; // challenged segments not yet proved
    uint16 proved;
    uint40 since; // when the present state began
    uint40 lastDeadline;
    uint40 lastProof;
    uint40 ackUntil;
    // next word
    uint128 paid;
    uint40 setDeadline; // of the duties that no challenger opened
    uint40 drawUntil;
    uint40 drawBlock;
    // next words
    bytes32 root;
    bytes32 delivery;
    bytes32 seed; // provider's commitment, then its preimage, then the sample's seed
    address enclaveKey;
    address awardee;
}

struct Challenge {
    address challenger;
    uint40 deadline;
}
