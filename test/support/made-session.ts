/**
 * Made-up sessions of tests that have no enclave and no key broker: evidence of the simulated kind, and what a broker signs about
 * it, with real signatures of test keys.
 */
import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { addressOfPublicKey, fromHex, signRecoverable, to0x, toBase64, toHex } from '#attestation/base';
import {
  appraisalDigest,
  domainSeparator,
  encodeEndorsements,
  encodeSessionEvidence,
  keysDigest,
  leaseDigest,
  noEndorsementRecord,
  parseSessionEvidence,
  releaseDigest,
  resultDigest,
  withSessionProof,
  type JobSpec,
  type Release,
} from '#attestation/records';

export const sha256 = (data: Uint8Array | string): Uint8Array =>
  new Uint8Array(createHash('sha256').update(data).digest());
export const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
export const addressOf = (secret: Uint8Array): Uint8Array => addressOfPublicKey(secp256k1.getPublicKey(secret, false));

export const chainId = 31_337;
export const contract = new Uint8Array(20).fill(0xcc);
const registry = new Uint8Array(20).fill(0xdd);
export const settlementKey = new Uint8Array(20).fill(0x66);
export const receiptSecret = sha256('test receipt key');
export const receiptKey = ed25519.getPublicKey(receiptSecret);
export const policy = Buffer.from('test policy');
const policyDigest = sha256(policy);

/** What a key broker's verdict rested on that asked nobody, toBase64. */
export const noEndorsements = toBase64(encodeEndorsements(noEndorsementRecord));

export interface MadeSession {
  readonly evidence: Uint8Array;
  readonly provider: Uint8Array;
  readonly settlementKey: Uint8Array;
}

export interface SessionOptions {
  /** A number that the nonce is made of; 1 where absent: what was answered at the release. */
  readonly nonce?: number;
  readonly settlementKey?: Uint8Array;
  /** Ed25519, 32 bytes; that of all tests where absent. */
  readonly receiptSecret?: Uint8Array;
  /** What the guest says of itself. */
  readonly claims?: string;
}

/** Signing is deterministic: what was made a moment ago is not made again. */
const made = new Map<string, Uint8Array>();
const madeMax = 1000;

function once(key: string, make: () => Uint8Array): Uint8Array {
  const known = made.get(key);
  if (known !== undefined) return known;
  const bytes = make();
  if (made.size < madeMax) made.set(key, bytes);
  return bytes;
}

/** @param provider  account, 20 bytes */
export async function madeSession(provider: Uint8Array, options: SessionOptions = {}): Promise<MadeSession> {
  const { nonce = 1, claims = '', receiptSecret: secret = receiptSecret } = options;
  const key = options.settlementKey ?? settlementKey;
  const session = await withSessionProof(
    {
      nonce: word(nonce),
      binding: {
        receiptKey: ed25519.getPublicKey(secret),
        settlementKey: key,
        transportKey: word(0x77),
        provider,
        chainId,
        registry,
      },
      cpu: { kind: 'simulated-snp', report: new Uint8Array(1), certificates: [] },
      gpus: [],
      claims: new TextEncoder().encode(claims),
    },
    (message) => once(`proof ${toHex(message)}`, () => ed25519.sign(message, secret)),
  );
  return { evidence: encodeSessionEvidence(session), provider, settlementKey: key };
}

/** The job that a session is let into, in the market of these tests or in another. */
export interface JobOfSession {
  readonly escrowId: string;
  readonly spec: Pick<JobSpec, 'dataset' | 'settlement'>;
}

const domainOf = ({ chainId: id, contract: verifyingContract }: JobSpec['settlement']): Uint8Array =>
  domainSeparator({ chainId: id, verifyingContract });

function signed(digest: Uint8Array, secret: Uint8Array): string {
  return to0x(once(`${toHex(digest)} ${toHex(secret)}`, () => signRecoverable(digest, secret)));
}

const attestationResult = new TextEncoder().encode('test attestation result');

function resultOf(evidence: Uint8Array, secret: Uint8Array) {
  const resultSignature = signed(resultDigest(evidence, attestationResult), secret);
  return { result: toBase64(attestationResult), resultSignature };
}

/** Before all that tests take the time to be. */
const grantedLongAgo = 0;

/** What a node reports of a renewal. @param notAfter  unix seconds @param secret  of the key broker's account */
export function madeRenewal(
  { escrowId, spec }: JobOfSession,
  session: MadeSession,
  notAfter: number,
  secret: Uint8Array,
) {
  const { binding, nonce } = parseSessionEvidence(session.evidence);
  const evidence = sha256(session.evidence);
  const grantedAt = grantedLongAgo;
  const digest = leaseDigest(domainOf(spec.settlement), {
    ...{ job: fromHex(escrowId), session: keysDigest(binding), policy: policyDigest },
    ...{ evidence, nonce, grantedAt, notAfter },
  });
  return {
    ...{ evidence: toBase64(session.evidence), endorsements: noEndorsements },
    lease: { grantedAt, notAfter, signature: signed(digest, secret) },
    ...resultOf(evidence, secret),
  };
}

/** What a node reports of a key release for an escrow. @param attestors  secrets of accounts that the terms list */
export function madeRelease(
  { escrowId, spec }: JobOfSession,
  session: MadeSession,
  notAfter: number,
  secret: Uint8Array,
  attestors: readonly Uint8Array[] = [],
  policy: Uint8Array = policyDigest,
) {
  const { binding, nonce } = parseSessionEvidence(session.evidence);
  const release: Release = {
    ...{ job: fromHex(escrowId), provider: binding.provider, dataset: spec.dataset.id },
    ...{ session: keysDigest(binding), key: binding.settlementKey, policy },
    ...{ evidence: sha256(session.evidence), grant: sha256('test sealed key'), nonce },
    ...{ grantedAt: grantedLongAgo, notAfter },
  };
  const domain = domainOf(spec.settlement);
  const { grantedAt, ...words } = release;
  const hexes = Object.entries(words).filter((entry): entry is [string, Uint8Array] => typeof entry[1] !== 'number');
  const told = Object.fromEntries(hexes.map(([name, bytes]) => [name, to0x(bytes)])) as Record<
    Exclude<keyof Release, 'grantedAt' | 'notAfter'>,
    string
  >;
  return {
    release: { ...told, grantedAt, notAfter },
    releaseSignature: signed(releaseDigest(domain, release), secret),
    ...resultOf(release.evidence, secret),
    appraisals: attestors.map((attestor) => ({
      ...{ evidence: to0x(release.evidence), notAfter },
      signature: signed(appraisalDigest(domain, release), attestor),
    })),
  };
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
