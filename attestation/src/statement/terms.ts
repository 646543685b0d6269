/**
 * Escrow terms: all that client and provider agree on (settlement §5). Their ABI encoding decides the job's identity
 * on chain, so the same bytes are written here, in the contract and by any other client.
 */
import { fromHex, toHex, concatBytes, equalBytes, isZero } from '../bytes.js';
import { Rejection } from '../errors.js';
import { keccak, word, type Digest } from './digest.js';

/** Lengths in seconds. */
export interface Windows {
  readonly start: number;
  readonly compute: number;
  readonly draw: number;
  readonly challenge: number;
  readonly prove: number;
  readonly provePer: number;
  readonly hold: number;
  readonly reveal: number;
  readonly ack: number;
}

/** Addresses are 20 bytes, digests 32, selectors 4; amounts are in the token's smallest unit. */
export interface Terms {
  readonly client: Uint8Array;
  /** Zero: whoever holds the client's signed Award. */
  readonly provider: Uint8Array;
  /** Signs Release beside the client; zero: the client alone. */
  readonly keyBroker: Uint8Array;
  /** Zero: native coin. */
  readonly token: Uint8Array;
  readonly specDigest: Digest;
  /** Border 0. */
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
  /** Sum of JobMode bits. */
  readonly mode: number;
  /** keccak256 of the client's seed; also makes two otherwise equal jobs different. */
  readonly seedCommitClient: Digest;
  /** Unix seconds. */
  readonly acceptBy: number;
  readonly windows: Windows;
}

/** Bits of Terms.mode, settlement §5. */
export const JobMode = { tee: 1, full: 2, sample: 4, optimistic: 8, reveal: 16 } as const;

type Kind = { readonly sort: 'bytes' | 'number' | 'amount'; readonly size: number };
const address: Kind = { sort: 'bytes', size: 20 };
const bytes32: Kind = { sort: 'bytes', size: 32 };
const bytes4: Kind = { sort: 'bytes', size: 4 };
const uint = (bits: number): Kind => ({ sort: 'number', size: bits / 8 });
const uint128: Kind = { sort: 'amount', size: 16 };

const windowNames = ['start', 'compute', 'draw', 'challenge', 'prove', 'provePer', 'hold', 'reveal', 'ack'] as const;

/** Head words of the ABI tuple in order; dutySelectors is the one dynamic member. */
const fields: readonly (readonly [Exclude<keyof Terms, 'windows'>, Kind])[] = [
  ['client', address],
  ['provider', address],
  ['keyBroker', address],
  ['token', address],
  ['specDigest', bytes32],
  ['initialWeights', bytes32],
  ['policy', bytes32],
  ['minTier', uint(8)],
  ['teeSelector', bytes4],
  ['dutySelectors', bytes4],
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
];
const headWords = fields.length + windowNames.length;
const dutySelectorsMax = 8;
const termsBytesMax = 32 * (1 + headWords + 1 + dutySelectorsMax);

/**
 * abi.encode(Terms): offset, head, dutySelectors.
 * @throws Rejection TERMS_FIELD when a member has the wrong length or does not fit its type
 */
export function encodeTerms(terms: Terms): Uint8Array {
  const head = fields.map(([name, kind]) =>
    name === 'dutySelectors' ? word(headWords * 32) : encodeMember(name, kind, terms[name]),
  );
  const windows = windowNames.map((name) => encodeMember(`windows.${name}`, uint(32), terms.windows[name]));
  if (terms.dutySelectors.length > dutySelectorsMax) {
    throw malformed('dutySelectors', `at most ${dutySelectorsMax} selectors`, `${terms.dutySelectors.length}`);
  }
  const selectors = terms.dutySelectors.map((selector) => encodeMember('dutySelectors', bytes4, selector));
  return concatBytes(word(32), ...head, ...windows, word(selectors.length), ...selectors);
}

/**
 * The inverse of encodeTerms; only the one encoding that encodeTerms writes is read.
 * @throws Rejection TERMS_ENCODING, TERMS_FIELD
 */
export function decodeTerms(encoded: Uint8Array): Terms {
  const fixed = 32 * (1 + headWords + 1);
  if (encoded.length < fixed || encoded.length > termsBytesMax || encoded.length % 32 !== 0) {
    throw malformedEncoding(`${fixed} to ${termsBytesMax} bytes`, `${encoded.length} bytes`);
  }
  const at = (index: number) => encoded.subarray(32 * (index + 1), 32 * (index + 2));
  const out: Record<string, unknown> = {};
  fields.forEach(([name, kind], index) => {
    if (name !== 'dutySelectors') out[name] = decodeMember(name, kind, at(index));
  });
  out['windows'] = Object.fromEntries(
    windowNames.map((name, i) => [name, decodeMember(`windows.${name}`, uint(32), at(fields.length + i))]),
  );
  const selectors = (encoded.length - fixed) / 32;
  out['dutySelectors'] = Array.from({ length: selectors }, (_, i) =>
    decodeMember('dutySelectors', bytes4, at(headWords + 1 + i)),
  );
  const terms = out as unknown as Terms;
  if (!equalBytes(encodeTerms(terms), encoded)) {
    throw malformedEncoding('the canonical ABI encoding of Terms', 'another encoding');
  }
  return terms;
}

/** The job's identity on chain: keccak256(abi.encode(Terms)), settlement §3. */
export function jobDigest(terms: Terms): Digest {
  return keccak(encodeTerms(terms));
}

/** JSON with byte strings as 0x-hex and amounts as decimal strings. */
export function termsJson(terms: Terms): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, kind] of fields) {
    const value = terms[name];
    if (name === 'dutySelectors') out[name] = terms.dutySelectors.map((selector) => `0x${toHex(selector)}`);
    else if (kind.sort === 'bytes') out[name] = `0x${toHex(value as Uint8Array)}`;
    else out[name] = kind.sort === 'amount' ? String(value) : value;
  }
  return { ...out, windows: { ...terms.windows } };
}

/**
 * @param json a parsed JSON value; unknown and missing members are refused
 * @throws Rejection TERMS_FIELD, BYTES_HEX
 */
export function parseTermsJson(json: unknown): Terms {
  const source = members('terms', json, [...fields.map(([name]) => name), 'windows']);
  const out: Record<string, unknown> = {};
  for (const [name, kind] of fields) {
    const value = source[name];
    if (name !== 'dutySelectors') out[name] = fromJson(name, kind, value);
    else if (!Array.isArray(value)) throw malformed(name, 'a list of selectors', describe(value));
    else out[name] = value.slice(0, dutySelectorsMax + 1).map((item) => fromJson(name, bytes4, item));
  }
  const windows = members('windows', source['windows'], windowNames);
  out['windows'] = Object.fromEntries(
    windowNames.map((name) => [name, fromJson(`windows.${name}`, uint(32), windows[name])]),
  );
  const terms = out as unknown as Terms;
  encodeTerms(terms);
  return terms;
}

function fromJson(name: string, kind: Kind, value: unknown): unknown {
  if (kind.sort === 'number') {
    if (typeof value !== 'number') throw malformed(name, 'a number', describe(value));
    return value;
  }
  if (typeof value !== 'string' || value.length > 80) throw malformed(name, 'a string', describe(value));
  if (kind.sort === 'bytes') return fromHex(value);
  if (!/^(0|[1-9][0-9]{0,38})$/.test(value)) throw malformed(name, 'a decimal integer', describe(value));
  return BigInt(value);
}

function members(name: string, value: unknown, allowed: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(name, 'an object', describe(value));
  }
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw malformed(name, `only ${allowed.join(', ')}`, describe(key));
  }
  return value as Record<string, unknown>;
}

/** One ABI word: integers and addresses right-aligned, fixed bytes left-aligned. */
function encodeMember(name: string, kind: Kind, value: unknown): Uint8Array {
  const fits =
    kind.sort === 'bytes'
      ? value instanceof Uint8Array && value.length === kind.size
      : kind.sort === 'amount'
        ? typeof value === 'bigint' && value >= 0n && value < 1n << BigInt(8 * kind.size)
        : Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** (8 * kind.size);
  if (!fits) throw malformed(name, `${kind.sort} of ${kind.size} bytes`, describe(value));
  if (kind.sort !== 'bytes') return word(value as number | bigint);
  const padding = new Uint8Array(32 - kind.size);
  return kind === address ? concatBytes(padding, value as Uint8Array) : concatBytes(value as Uint8Array, padding);
}

function decodeMember(name: string, kind: Kind, encoded: Uint8Array): unknown {
  if (kind.sort === 'bytes') {
    return kind === address ? encoded.slice(32 - kind.size) : encoded.slice(0, kind.size);
  }
  if (!isZero(encoded.subarray(0, 32 - kind.size))) throw malformed(name, `${kind.size} bytes`, 'a larger integer');
  const value = BigInt(`0x${toHex(encoded)}`);
  return kind.sort === 'amount' ? value : Number(value);
}

function describe(value: unknown): string {
  return value instanceof Uint8Array ? `${value.length} bytes` : String(value).slice(0, 60);
}

function malformed(member: string, expected: string, got: string): Rejection {
  return new Rejection('TERMS_FIELD', { expected: `${member}: ${expected}`, got, rule: 'settlement §5' });
}

function malformedEncoding(expected: string, got: string): Rejection {
  return new Rejection('TERMS_ENCODING', { expected, got, rule: 'settlement §3' });
}
