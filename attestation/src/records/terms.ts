/**
 * Escrow terms: all that client and provider agree on (contracts/SPEC.md §5). Their ABI encoding decides the job's
 * identity on chain, so the same bytes are written here, in the contract and by any other client.
 */
import { keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import {
  address,
  bytes32,
  bytes4,
  decodeTuple,
  encodeTuple,
  listOf,
  parseTupleJson,
  tupleJson,
  uint,
  uint128,
  type Layout,
} from '../base/tuple.js';
import { isFormerJson, isFormerLength } from './former-terms.js';

/** Lengths in seconds, but for `drawBlocks`. */
export interface Windows {
  readonly start: number;
  readonly compute: number;
  /** After the commit, before the draw: until its block is final. */
  readonly finality: number;
  readonly draw: number;
  readonly challenge: number;
  readonly prove: number;
  readonly provePer: number;
  readonly hold: number;
  readonly reveal: number;
  readonly ack: number;
  /** Blocks from the commit to the one that is drawn from where nobody shows a seed. */
  readonly drawBlocks: number;
}

/** Addresses are 20 bytes, digests 32, selectors 4; amounts are in the token's smallest unit. */
export interface Terms {
  readonly client: Uint8Array;
  /** Zero: whoever holds the client's signed Award. */
  readonly provider: Uint8Array;
  /** Whose Release makes a session's key one of this job; never zero, the client may name itself. */
  readonly keyBroker: Uint8Array;
  /** Zero: native coin. */
  readonly token: Uint8Array;
  readonly specDigest: Digest;
  /** Border 0. */
  readonly initialWeights: Digest;
  readonly policy: Digest;
  /** On-chain policy of SEV-SNP registrations; zero: none demanded. */
  readonly snpPolicy: Digest;
  /** Of the plan under which the job is proved; zero without proofs. */
  readonly planDigest: Digest;
  /** Accounts whose Appraisals count, ascending. */
  readonly attestors: readonly Uint8Array[];
  /** How many of them each key needs. */
  readonly needed: number;
  readonly teeSelector: Uint8Array;
  readonly dutySelectors: readonly Uint8Array[];
  readonly price: bigint;
  readonly stake: bigint;
  readonly liveness: bigint;
  readonly bond: bigint;
  readonly bondFee: bigint;
  /** Deposit of a complaint about the delivery. */
  readonly publishFee: bigint;
  readonly failShareBps: number;
  readonly holdbackBps: number;
  readonly segments: number;
  readonly samples: number;
  /** Kind of proof unit; 0: a segment. */
  readonly unit: number;
  /** Segments for each duty. */
  readonly unitSegments: number;
  /** Transactions for each proof. */
  readonly parts: number;
  /** Root of several providers; zero: one. */
  readonly providers: Digest;
  /** Sum of JobMode bits. */
  readonly mode: number;
  /** keccak256 of the client's seed; also makes two otherwise equal jobs different. */
  readonly seedCommitClient: Digest;
  /** Unix seconds. */
  readonly acceptBy: number;
  readonly windows: Windows;
}

/** Bits of Terms.mode, contracts/SPEC.md §5. */
export const JobMode = { tee: 1, full: 2, sample: 4, optimistic: 8, reveal: 16, early: 32 } as const;

export const attestorsMax = 16;

const layout = {
  fields: [
    ['client', address],
    ['provider', address],
    ['keyBroker', address],
    ['token', address],
    ['specDigest', bytes32],
    ['initialWeights', bytes32],
    ['policy', bytes32],
    ['snpPolicy', bytes32],
    ['planDigest', bytes32],
    ['attestors', listOf(address, attestorsMax)],
    ['needed', uint(8)],
    ['teeSelector', bytes4],
    ['dutySelectors', listOf(bytes4, 8)],
    ['price', uint128],
    ['stake', uint128],
    ['liveness', uint128],
    ['bond', uint128],
    ['bondFee', uint128],
    ['publishFee', uint128],
    ['failShareBps', uint(16)],
    ['holdbackBps', uint(16)],
    ['segments', uint(32)],
    ['samples', uint(32)],
    ['unit', uint(8)],
    ['unitSegments', uint(16)],
    ['parts', uint(8)],
    ['providers', bytes32],
    ['mode', uint(16)],
    ['seedCommitClient', bytes32],
    ['acceptBy', uint(40)],
  ],
  windows: [
    ...['start', 'compute', 'finality', 'draw', 'challenge', 'prove', 'provePer', 'hold', 'reveal', 'ack'],
    'drawBlocks',
  ],
} as const satisfies Layout;

/**
 * abi.encode(Terms).
 * @throws Rejection TERMS_FIELD when a member has the wrong length or does not fit its type
 */
export function encodeTerms(terms: Terms): Uint8Array {
  return encodeTuple(layout, { ...terms });
}

/**
 * The inverse of encodeTerms; only the one encoding that encodeTerms writes is read.
 * @throws Rejection TERMS_VERSION for terms of the former layout, TERMS_ENCODING, TERMS_FIELD
 */
export function decodeTerms(encoded: Uint8Array): Terms {
  if (isFormerLength(encoded.length)) throw former(`${encoded.length} bytes, as the former layout has`);
  return decodeTuple(layout, encoded) as unknown as Terms;
}

/** The job's identity on chain: keccak256(abi.encode(Terms)), contracts/SPEC.md §3. */
export function escrowIdOf(terms: Terms): Digest {
  return keccak(encodeTerms(terms));
}

/** JSON with byte strings as 0x-hex and amounts as decimal strings. */
export function termsJson(terms: Terms): Record<string, unknown> {
  return tupleJson(layout, { ...terms });
}

/**
 * @param json a parsed JSON value; unknown and missing members are refused
 * @throws Rejection TERMS_VERSION for terms of the former layout, TERMS_FIELD, BYTES_HEX
 */
export function parseTermsJson(json: unknown): Terms {
  if (isFormerJson(json)) throw former('a member of the former layout: minTier');
  return parseTupleJson(layout, json) as unknown as Terms;
}

function former(got: string): Rejection {
  return new Rejection('TERMS_VERSION', {
    expected: 'terms of the present layout',
    got,
    rule: 'contracts/SPEC.md §5',
    action: 'let the old escrow end under the versions that opened it, and open new jobs with new terms',
  });
}
