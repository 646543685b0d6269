// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

// One name for one failure: the off-chain client raises the same codes.

error TERMS_SEGMENTS(uint32 segments);
error TERMS_MODE(uint16 mode);
error TERMS_LIVENESS(uint128 liveness, uint128 stake);
error TERMS_BOND(uint128 bond, uint128 bondFee);
error TERMS_PUBLISH(uint128 publishFee);
error TERMS_SAMPLES(uint32 samples);
error TERMS_SHARE(uint16 bps);
error TERMS_UNIT();
error TERMS_WINDOW();
error TERMS_FLOORS(uint32 window);
error TERMS_SELECTORS();
error TERMS_KIND(bytes4 selector);
error TERMS_TOKEN(address token);
error TERMS_EXPIRED(uint40 acceptBy);
error TERMS_RANDAO();
error TERMS_PARTY(address who);
error TERMS_ATTESTORS(uint256 count, uint8 needed);

error JOB_EXISTS(bytes32 job);
error JOB_STATE(bytes32 job, uint8 state);
error JOB_ENDED(bytes32 job, uint8 state);
error CALLER(address expected, address got);
error PAUSED();
error ROLE_ZERO(uint8 role);
error ROLE_NONE(uint8 role);
error TOO_EARLY(uint256 from);
error TOO_LATE(uint256 until);
error SIGNATURE(address signer);
error SIGNATURE_LENGTH(uint256 got);
error QUORUM_SHORT(uint256 required, uint256 got);
error QUORUM_SIGNER(address signer);
error QUORUM_ORDER(address signer);
error QUORUM_REPEATED(address signer);
error QUORUM_SIZE(uint256 threshold, uint256 most);

error VALUE(uint256 expected, uint256 got);
error PULLED(uint256 expected, uint256 got);
error TRANSFER(address to, uint256 amount);
error STAKE_SHORT(uint256 required, uint256 free);
error NOTHING_DUE();
error AMOUNT(uint256 most, uint256 got);

error RUN_LENGTH(uint256 borders);
error RUN_START(bytes32 expected, bytes32 got);
error RUN_OUTCOME(uint8 outcome, uint256 upTo);
error RUN_DELIVERY();
error SEED(bytes32 commitment);
error SEAL_MISSING();
error SEAL_MODE(uint16 mode);
error SEAL_LENGTH(uint256 got);
error SEAL_SELECTOR(bytes4 got);
error SEAL_SIGNER(address key);

error GRANT_EXPIRED(uint40 notAfter);
error GRANT_KEY(address key, bytes32 session);
error APPROVALS(uint256 expected, uint256 got);
error KEY_BOUND(address key);
error KEY_UNBOUND(address key);
error KEY_ORDER(address key);
error KEY_REVOKED(address key);
error KEY_CONDEMNED(address key);
error KEY_LIVE(address key);

error SEGMENT_INDEX(uint256 segment, uint256 upTo);
error SEGMENT_PROVED(uint256 segment);
error SEGMENT_PATH(uint256 segment);
error DUTY_EXISTS(uint256 segment);
error DUTY_NONE(uint256 segment);
error DUTY_OPEN();
error CHALLENGE_CLOSED();
error DRAW_NONE();
error DRAW_HEADER(bytes32 expected, bytes32 got);
error DRAW_NUMBER(uint256 expected);
error VERIFIER_LIVE();
error VERIFIER_DEAD();

error DELIVERY_MODE();
error DELIVERY_KEY();
error DELIVERY_CLAIMED();
error DELIVERY_PENDING();
error DELIVERY_PUBLISH();
error AVAILABILITY_ENDS(uint256 least, uint40 until);
error PUBLISH_HASHES(uint256 expected, uint256 got);
error PUBLISH_INDEX(uint256 index, uint256 count);
error PUBLISH_CHUNK(uint256 index, uint256 size);
error PUBLISH_MISSING(bytes32 ciphertextDigest);

error FACT_MISSING(bytes32 statementDigest);
error FACT_CHUNK(address chunk, uint256 bytes_);
error SPLIT_NONE(bytes32 statementDigest);
error SPLIT_LATE(uint256 until);
error SPLIT_REST();

error ROUTER_UNKNOWN(bytes4 selector);
error ROUTER_TOMBSTONED(bytes4 selector);
error ROUTER_TAKEN(bytes4 selector);
error ROUTER_CODE(address verifier);
error REEXECUTION_CHIP(address key);

error EVIDENCE_USED(bytes32 report);
error SNP_UNKNOWN(address key, bytes32 policy);
error SNP_PROVIDER(address expected, address got);
error SNP_EXPIRED(address key, uint40 notAfter);
error SNP_CERTIFICATES(uint256 pos);
error SNP_CHAIN(bytes32 issuer);
error SNP_CERTIFICATE_SIGNATURE();
error SNP_LEAF_EXTENSIONS(bytes32 oid);
error SNP_VALIDITY(uint256 notBefore, uint256 notAfter);
error SNP_ENDORSEMENT_MISSING(bytes32 publicKey);
error SNP_ENDORSEMENT_KIND(bool vlek);
error SNP_REVOKED(bytes32 what);
error SNP_REPORT_SIZE(uint256 got);
error SNP_REPORT_VERSION(uint256 got);
error SNP_REPORT_SIGNATURE();
error SNP_REPORT_SIGNATURE_ALGO(uint256 got);
error SNP_REPORT_SIGNATURE_PADDING();
error SNP_PRODUCT(uint8 expected, uint256 family, uint256 model);
error SNP_CHIP_ID();
error SNP_CERTIFICATE_TCB(bytes8 expected, bytes8 got);
error SNP_TCB_BELOW_FLOOR(uint8 component, uint8 floor, uint8 got);
error SNP_POLICY_DEBUG_SET();
error SNP_POLICY_MIGRATION_SET();
error SNP_VMPL(uint256 got);
error SNP_MEASUREMENT(bytes32 measurement);
error SNP_REPORT_DATA();
error SNP_NONCE(uint256 blockNumber);
error SNP_POLICY(bytes32 policy);
error SNP_REPORT_RESERVED(uint256 place);
error SNP_VLEK();
error SNP_GUEST_POLICY(uint64 got);
error SNP_GUEST_SVN(uint32 least, uint32 got);
error SNP_PLATFORM_INFO(uint64 got);
error SNP_HOST_DATA(bytes32 got);
error SNP_ID_KEY(bytes32 got);

error ANCHOR_EMPTY();
error ANCHOR_ORDER(uint64 size, uint64 got);
