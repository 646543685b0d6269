/**
 * Tokens of NVIDIA's remote attestation service: a detached EAT, one overall JWT and one per GPU
 * (attestation/EVIDENCE.md §3.6). They are another verifier's opinion about evidence that need not be at hand: never
 * merged with our own verification.
 */
import { concatBytes, fromBase64, fromUtf8, toHex, utf8 } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { spkiOfPoint, verifySignature } from '../base/signatures.js';
import { authenticityOf, openChecks, type Check, type CheckRule } from '../check/checks.js';
import type { Authenticity } from '../check/verified.js';

import { gpuCountMax, nrasBytesMax, nrasIssuer } from './constants.js';

/** One key of the service's JSON Web Key Set. */
export interface NrasKey {
  readonly kid: string;
  readonly kty: 'EC';
  readonly crv: 'P-384';
  /** base64url, 48 bytes each. */
  readonly x: string;
  readonly y: string;
}

interface NrasRequest {
  /**
   * UTF-8 of [["JWT", overall], { "GPU-0": jwt, … }], or that inside { "REMOTE_GPU_CLAIMS": … } behind the wrapper
   * token that NVIDIA's SDK puts around it. The wrapper has no key that anybody could check it with and counts for
   * nothing.
   */
  readonly tokens: Uint8Array;
  readonly keys: readonly NrasKey[];
  /** 32 bytes that the verifier sent; absent when the caller judges freshness itself. */
  readonly nonce?: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
}

interface NrasClaims {
  readonly overall: boolean;
  readonly nonce: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Every claim of each GPU's token by submodule name; another verifier's words. */
  readonly gpus: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface NrasOpinion {
  readonly kind: 'nvidia-nras';
  readonly authenticity: Authenticity;
  readonly checks: readonly Check[];
  readonly claims?: NrasClaims;
}

const source = 'RFC 7515 §5.2; RFC 9711; attestation/EVIDENCE.md §3.6';
const rule = (expected: string, sentence: string, action: string): CheckRule => ({
  claim: 'sourced-data',
  expected,
  rule: sentence,
  source,
  action,
});
const again = 'ask the service again';
const rules = {
  NVIDIA_NRAS_FORM: rule('a detached EAT', 'The answer is one overall token and one per GPU.', again),
  NVIDIA_NRAS_SIGNATURE: rule('ES384 by an allowed key', 'An allowed key of the service signed every token.', again),
  NVIDIA_NRAS_ISSUER: rule(nrasIssuer, 'Every token names the service as its issuer.', again),
  NVIDIA_NRAS_SUBMODULES: rule('the digest of every token', 'The overall token covers exactly these tokens.', again),
  NVIDIA_NRAS_NONCE: rule('one nonce', 'Every token carries the nonce that the verifier sent.', again),
  NVIDIA_NRAS_TIME: rule('nbf ≤ at ≤ exp', 'Every token is valid at the verification time.', again),
} as const;

/** Throws nothing but bugs. */
export async function verifyNras(request: NrasRequest): Promise<NrasOpinion> {
  const book = openChecks<keyof typeof rules>(rules);
  let tokens: Token[] = [];
  // A token that no supplied key belongs to could not be checked: that is no forgery.
  const formed = await book.attempt('NVIDIA_NRAS_FORM', () => {
    tokens = readTokens(request.tokens);
    return `${tokens.length - 1} GPUs`;
  });
  if (!formed) return { kind: 'nvidia-nras', authenticity: 'forged', checks: book.checks() };
  await book.attempt('NVIDIA_NRAS_SIGNATURE', async () => {
    for (const token of tokens) await verifyToken(token, request.keys);
    return tokens[0]!.kid;
  });
  const issuers = [...new Set(tokens.map((token) => String(token.claims['iss'])))];
  book.settle('NVIDIA_NRAS_ISSUER', issuers.join() === nrasIssuer ? 'met' : 'forged', issuers.join(' '));
  await book.attempt('NVIDIA_NRAS_SUBMODULES', () => checkSubmodules(tokens));
  const nonces = [...new Set(tokens.map((token) => String(token.claims['eat_nonce']).toLowerCase()))];
  const wanted = request.nonce === undefined ? nonces[0]! : toHex(request.nonce);
  // Tokens that answer somebody else's question are authentic, and refused here.
  const outcome = nonces.length > 1 ? 'forged' : nonces[0] === wanted ? 'met' : 'refused';
  book.settle('NVIDIA_NRAS_NONCE', outcome, nonces.join(' '), wanted);
  const times = tokens.map(({ claims }) => [seconds(claims['nbf']), seconds(claims['exp'])] as const);
  const current = times.every(([begin, end]) => begin <= request.at && request.at <= end);
  book.settle('NVIDIA_NRAS_TIME', current ? 'met' : 'missing', times.map(String).join(' '), `${request.at}`);
  const authenticity = authenticityOf(book.checks().filter((check) => check.status !== 'refused'));
  const result = { kind: 'nvidia-nras', authenticity, checks: book.checks() } as const;
  if (authenticity !== 'authentic') return result;
  const [overall, ...gpus] = tokens as [Token, ...Token[]];
  const claims: NrasClaims = {
    overall: overall.claims['x-nvidia-overall-att-result'] === true,
    nonce: nonces[0]!,
    issuedAt: seconds(overall.claims['iat']),
    expiresAt: seconds(overall.claims['exp']),
    gpus: Object.fromEntries(gpus.map((token) => [token.name, token.claims])),
  };
  return { ...result, claims };
}

interface Token {
  /** Submodule name; empty for the overall token. */
  readonly name: string;
  readonly text: string;
  readonly kid: string;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The overall token first. */
function readTokens(json: Uint8Array): Token[] {
  if (json.length > nrasBytesMax) throw bad(`at most ${nrasBytesMax} bytes`, `${json.length}`);
  const outer = unwrapped(parse(json));
  const [overall, parts] = Array.isArray(outer) && outer.length === 2 ? (outer as [unknown, unknown]) : [];
  const isPair = Array.isArray(overall) && overall.length === 2 && overall[0] === 'JWT';
  if (!isPair) throw bad('[["JWT", token], { name: token }]', 'another structure');
  const named = Object.entries(asObject(parts));
  if (named.length === 0 || named.length > gpuCountMax) throw bad(`1 to ${gpuCountMax} GPUs`, `${named.length}`);
  return [['', overall[1]] as const, ...named].map(([name, text]) => readToken(name, text));
}

/** What NVIDIA's SDK writes: a token under a key that it alone has, and the service's answer under a fixed name. */
function unwrapped(outer: unknown): unknown {
  const [, parts] = Array.isArray(outer) && outer.length === 2 ? (outer as [unknown, unknown]) : [];
  const named = parts !== null && typeof parts === 'object' ? (parts as Record<string, unknown>) : {};
  const inner = named['REMOTE_GPU_CLAIMS'];
  return Array.isArray(inner) && Object.keys(named).length === 1 ? inner : outer;
}

/** The nonce that all tokens state, unauthenticated; undefined where they cannot be read or state several. */
export function readNrasNonce(json: Uint8Array): string | undefined {
  try {
    const nonces = new Set(readTokens(json).map((token) => String(token.claims['eat_nonce']).toLowerCase()));
    return nonces.size === 1 ? [...nonces][0] : undefined;
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}

function readToken(name: string, text: unknown): Token {
  const match = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(typeof text === 'string' ? text : '');
  if (match === null) throw bad('a compact JWS', `another thing for "${name.slice(0, 40)}"`);
  const [whole, head, body, signature] = match as unknown as [string, string, string, string];
  const header = asObject(parse(fromBase64(head)));
  if (header['alg'] !== 'ES384') throw bad('alg ES384', String(header['alg']));
  if (header['crit'] !== undefined || typeof header['kid'] !== 'string')
    throw bad('a kid and no crit', 'another header');
  return {
    name,
    text: whole,
    kid: header['kid'],
    signed: utf8(`${head}.${body}`),
    signature: fromBase64(signature),
    claims: asObject(parse(fromBase64(body))),
  };
}

/** @throws CollateralError NVIDIA_NRAS_KEY; Rejection NVIDIA_NRAS_SIGNATURE */
async function verifyToken(token: Token, keys: readonly NrasKey[]): Promise<void> {
  const key = keys.find((candidate) => candidate.kid === token.kid && candidate.crv === 'P-384');
  if (key === undefined) throw missingKey(token.kid);
  const spki = spkiOfPoint('ecdsa-p384-sha384', concatBytes(fromBase64(key.x), fromBase64(key.y)));
  await verifySignature('ecdsa-p384-sha384', spki, token.signature, token.signed).catch((error: unknown) => {
    if (!(error instanceof Rejection)) throw error;
    throw bad('a signature by this key', `${error.code} in "${token.name}"`, 'NVIDIA_NRAS_SIGNATURE');
  });
}

/** The overall token's submods: exactly the given names, each ["DIGEST", ["SHA-256", hex of the token text's hash]]. */
async function checkSubmodules([overall, ...gpus]: readonly Token[]): Promise<string> {
  const stated = asObject(overall!.claims['submods']);
  const code = 'NVIDIA_NRAS_SUBMODULES';
  const names = (list: readonly string[]): string => [...list].sort().join(' ');
  const given = names(gpus.map((token) => token.name));
  if (names(Object.keys(stated)) !== given) throw bad(names(Object.keys(stated)), given, code);
  for (const token of gpus) {
    const hash = await globalThis.crypto.subtle.digest('SHA-256', utf8(token.text) as Uint8Array<ArrayBuffer>);
    const wanted = JSON.stringify(['DIGEST', ['SHA-256', toHex(new Uint8Array(hash))]]);
    const found = JSON.stringify(stated[token.name]);
    if (found !== wanted) throw bad(wanted, found.slice(0, 120), code);
  }
  return given;
}

/** NaN, which no comparison accepts, for anything but an integer. */
function seconds(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : Number.NaN;
}

function asObject(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw bad('a JSON object', 'another value');
  return value as Record<string, unknown>;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes));
  } catch {
    throw bad('JSON', 'another text');
  }
}

function missingKey(kid: string): CollateralError {
  return new CollateralError('NVIDIA_NRAS_KEY', {
    expected: 'the service’s key of this kid',
    got: `none for ${kid.slice(0, 80)}`,
    rule: 'RFC 7515 §4.1.4; attestation/EVIDENCE.md §3.6',
    action: 'supply the key set that the service published at that time',
  });
}

function bad(expected: string, got: string, code = 'NVIDIA_NRAS_FORM'): Rejection {
  return new Rejection(code, { expected, got, rule: 'RFC 7515 §5.2; attestation/EVIDENCE.md §3.6' });
}
