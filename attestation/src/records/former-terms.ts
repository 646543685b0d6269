/** Terms as they were before attestors stood in them. Bundles of versions 1 to 3 and old journals are read by these. */
import type { Digest } from '../base/digest.js';
import {
  address,
  bytes32,
  bytes4,
  decodeTuple,
  encodedBytes,
  encodeTuple,
  listOf,
  parseTupleJson,
  uint,
  uint128,
  type Layout,
} from '../base/tuple.js';

export interface FormerTerms {
  readonly client: Uint8Array;
  readonly provider: Uint8Array;
  /** Zero: the client alone. */
  readonly keyBroker: Uint8Array;
  readonly token: Uint8Array;
  readonly specDigest: Digest;
  readonly initialWeights: Digest;
  readonly policy: Digest;
  readonly minTier: number;
  readonly teeSelector: Uint8Array;
  readonly dutySelectors: readonly Uint8Array[];
  readonly price: bigint;
  readonly stake: bigint;
  readonly liveness: bigint;
  readonly bond: bigint;
  readonly bondFee: bigint;
  readonly failShareBps: number;
  readonly holdbackBps: number;
  readonly segments: number;
  readonly samples: number;
  readonly mode: number;
  readonly seedCommitClient: Digest;
  readonly acceptBy: number;
  readonly windows: Readonly<Record<(typeof windows)[number], number>>;
}

const windows = ['start', 'compute', 'draw', 'challenge', 'prove', 'provePer', 'hold', 'reveal', 'ack'] as const;

const layout = {
  fields: [
    ['client', address],
    ['provider', address],
    ['keyBroker', address],
    ['token', address],
    ['specDigest', bytes32],
    ['initialWeights', bytes32],
    ['policy', bytes32],
    ['minTier', uint(8)],
    ['teeSelector', bytes4],
    ['dutySelectors', listOf(bytes4, 8)],
    ['price', uint128],
    ['stake', uint128],
    ['liveness', uint128],
    ['bond', uint128],
    ['bondFee', uint128],
    ['failShareBps', uint(16)],
    ['holdbackBps', uint(16)],
    ['segments', uint(32)],
    ['samples', uint(32)],
    ['mode', uint(8)],
    ['seedCommitClient', bytes32],
    ['acceptBy', uint(40)],
  ],
  windows,
} as const satisfies Layout;

/** @throws Rejection TERMS_ENCODING, TERMS_FIELD */
export function decodeFormerTerms(encoded: Uint8Array): FormerTerms {
  return decodeTuple(layout, encoded) as unknown as FormerTerms;
}

/** For whoever makes a bundle of versions 1 to 3 again. @throws Rejection TERMS_FIELD */
export function encodeFormerTerms(terms: FormerTerms): Uint8Array {
  return encodeTuple(layout, { ...terms });
}

/** No encoding of the present layout is as short. */
export function isFormerLength(length: number): boolean {
  const { min, max } = encodedBytes(layout);
  return length >= min && length <= max && length % 32 === 0;
}

/** Of rows that were stored in the former layout. @throws Rejection TERMS_FIELD, BYTES_HEX */
export function parseFormerTermsJson(json: unknown): FormerTerms {
  return parseTupleJson(layout, json) as unknown as FormerTerms;
}

export function isFormerJson(json: unknown): boolean {
  return typeof json === 'object' && json !== null && Object.hasOwn(json, 'minTier');
}
