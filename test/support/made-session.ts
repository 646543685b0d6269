/**
 * Made-up sessions of tests that have no enclave and no key broker: evidence of the simulated kind, and what a broker signs about
 * it, with real signatures of test keys.
 */
import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  addressOfPublicKey,
  appraisalDigest,
  domainSeparator,
  enclaveKeyWord,
  encodeSessionEvidence,
  fromHex,
  registryDomainSeparator,
  releaseDigest,
  toHex,
} from '#attestation';

export const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
export const sha256 = (data: Uint8Array | string): Uint8Array =>
  new Uint8Array(createHash('sha256').update(data).digest());
export const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
export const addressOf = (secret: Uint8Array): Uint8Array => addressOfPublicKey(secp256k1.getPublicKey(secret, false));

export const chainId = 31_337;
export const contract = new Uint8Array(20).fill(0xcc);
const registry = new Uint8Array(20).fill(0xdd);
const settlementKey = new Uint8Array(20).fill(0x66);
export const receiptSecret = sha256('test receipt key');
export const receiptKey = ed25519.getPublicKey(receiptSecret);
export const policy = Buffer.from('test policy');
export const policyDigest = sha256(policy);

export interface MadeSession {
  readonly evidence: Uint8Array;
  readonly provider: Uint8Array;
  readonly settlementKey: Uint8Array;
}

export interface SessionOptions {
  /** A number that the nonce is made of; 1 where absent: what was answered at the release. */
  readonly nonce?: number;
  readonly settlementKey?: Uint8Array;
  /** What the guest says of itself. */
  readonly claims?: string;
}

/** @param provider  account, 20 bytes */
export function madeSession(provider: Uint8Array, options: SessionOptions = {}): MadeSession {
  const { nonce = 1, claims = '' } = options;
  const key = options.settlementKey ?? settlementKey;
  const evidence = encodeSessionEvidence({
    version: 1,
    nonce: word(nonce),
    binding: { receiptKey, settlementKey: key, transportKey: word(0x77), provider, chainId, registry },
    cpu: { kind: 'simulated-snp', report: new Uint8Array(1), certificates: [] },
    gpus: [],
    claims: new TextEncoder().encode(claims),
  });
  return { evidence, provider, settlementKey: key };
}

const domains = {
  escrow: domainSeparator({ chainId, verifyingContract: contract }),
  registry: registryDomainSeparator({ chainId, verifyingContract: registry }),
};

function appraisalOf({ evidence, provider, settlementKey: key }: MadeSession, notAfter: number, secret: Uint8Array) {
  const appraisal = { key, policy: policyDigest, provider, evidence: sha256(evidence), notAfter };
  return { appraisal, signature: sign(appraisalDigest(domains.registry, appraisal), secret) };
}

/** What a node reports of a renewal. @param notAfter  unix seconds @param secret  of whoever judges */
export function madeRenewal(session: MadeSession, notAfter: number, secret: Uint8Array) {
  const { signature } = appraisalOf(session, notAfter, secret);
  return { evidence: base64(session.evidence), appraisal: { notAfter, signature }, result: '' };
}

/** What a node reports of a key release for an escrow. */
export function madeRelease(escrowId: string, session: MadeSession, notAfter: number, secret: Uint8Array) {
  const { appraisal, signature } = appraisalOf(session, notAfter, secret);
  const enclaveKey = enclaveKeyWord(session.settlementKey);
  const release = { job: fromHex(escrowId), enclaveKey, shardsDigest: word(0x44) };
  return {
    release: {
      account: accountOf(secret),
      job: escrowId,
      enclaveKey: hex(enclaveKey),
      shardsDigest: hex(release.shardsDigest),
      releaseSignature: sign(releaseDigest(domains.escrow, release), secret),
      key: hex(appraisal.key),
      policy: hex(appraisal.policy),
      provider: hex(appraisal.provider),
      evidence: hex(appraisal.evidence),
      notAfter,
      appraisalSignature: signature,
    },
    result: '',
  };
}

const accounts = new WeakMap<Uint8Array, string>();

function accountOf(secret: Uint8Array): string {
  const account = accounts.get(secret) ?? hex(addressOf(secret));
  accounts.set(secret, account);
  return account;
}

const signed = new Map<string, string>();
const signedMax = 1000;

/** Signing is deterministic: what was signed a moment ago is not signed again. */
function sign(digest: Uint8Array, secret: Uint8Array): string {
  const key = `${toHex(digest)}${toHex(secret)}`;
  const known = signed.get(key);
  if (known !== undefined) return known;
  const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
  const made = hex(new Uint8Array([...signature.subarray(1), 27 + signature[0]!]));
  if (signed.size < signedMax) signed.set(key, made);
  return made;
}

/** Data set of 8 records that nobody holds. */
export const madeDataset = {
  version: 1,
  root: word(0xda),
  scheme: 'state-keccak',
  proving: null,
  records: 8,
  features: 4,
  classes: 2,
  batch: 4,
  superblock: 1,
} as const;

export const segmentSteps = 2;

/** Of a small network that is not trained by anybody. */
export const madeShape = { dims: [4, 3, 2], batch: 4, e: 12, seed: `0x${'5e'.repeat(32)}` } as const;

/** Of a job spec for that data set, in segments of two steps. */
export const madeSpec = {
  version: 1,
  segmentSteps,
  scheme: 'state-keccak',
  proving: null,
  policyDigest,
  assurance: 'tee',
  recipient: word(9),
  settlement: { chainId, contract },
} as const;

/** weightsDigest after a step of the one true run. */
export const weights = (step: number): Uint8Array => sha256(`weights ${step}`);
