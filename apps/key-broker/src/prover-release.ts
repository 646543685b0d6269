/**
 * The broker's other decision: may a named prover, a machine without a TEE, have this data set's key for this job?
 * Nothing hides the data from such a machine. So only accounts that the data owner lists, and only for jobs whose
 * assurance is zk. The key is sealed to an X25519 key that the account signed for.
 */
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import {
  concatBytes,
  decodeTerms,
  encodeDataKey,
  equalBytes,
  jobIdOf,
  keyReleaseInfo,
  parseJobSpec,
  recoverAddress,
  Rejection,
  taggedDigest,
  toHex,
} from '#attestation';
import type { BrokerConfig } from './config.js';
import type { NonceBook } from './nonces.js';

export interface ProverReleaseRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly nonce: Uint8Array;
  /** X25519 public key that the data key is sealed to. */
  readonly transportKey: Uint8Array;
  /** 65 bytes over `proverRequestDigest`, by the account that the terms name as provider. */
  readonly signature: Uint8Array;
}

/** What a prover signs, and the HPKE `aad` of the answer. */
export function proverRequestDigest(jobId: Uint8Array, nonce: Uint8Array, transportKey: Uint8Array): Uint8Array {
  return taggedDigest('veritrain/prover-release/v1', concatBytes(jobId, nonce, transportKey));
}

/**
 * @param at unix seconds
 * @returns encapsulated key (32 bytes) ‖ ciphertext of the data key
 * @throws Rejection NONCE_*, BROKER_ASSURANCE, BROKER_DATASET, BROKER_RECIPIENT, BROKER_ESCROW, BROKER_CHAIN,
 *   BROKER_PROVIDER, BROKER_PROVER, SEAL_SIGNATURE
 */
export async function releaseToProver(
  config: BrokerConfig,
  nonces: NonceBook,
  request: ProverReleaseRequest,
  at: number,
): Promise<{ sealedKey: Uint8Array; account: Uint8Array; jobId: Uint8Array }> {
  const { nonce, transportKey } = request;
  const spec = parseJobSpec(request.spec);
  const terms = decodeTerms(request.terms);
  const jobId = jobIdOf(spec);
  nonces.spend(nonce, toHex(jobId), at);
  const digest = proverRequestDigest(jobId, nonce, transportKey);
  const account = recoverAddress(digest, request.signature);
  if (spec.assurance !== 'zk') refuse('BROKER_ASSURANCE', "a job whose assurance is 'zk'", spec.assurance);
  const key = config.dataKey(spec.dataset.id) ?? refuse('BROKER_DATASET', 'a data set of this broker', spec.dataset.id);
  if (!config.recipients.has(toHex(spec.recipient))) {
    refuse('BROKER_RECIPIENT', "a result for one of the data owner's keys", spec.recipient);
  }
  same('BROKER_ESCROW', jobId, terms.specDigest);
  same('BROKER_CHAIN', config.settlement.contract, spec.settlement.contract);
  if (spec.settlement.chainId !== config.settlement.chainId) {
    refuse('BROKER_CHAIN', `chain ${config.settlement.chainId}`, `${spec.settlement.chainId}`);
  }
  if (terms.provider.some((byte) => byte !== 0)) same('BROKER_PROVIDER', terms.provider, account);
  if (config.provers?.has(toHex(account)) !== true) {
    refuse('BROKER_PROVER', 'a prover that the data owner named', account);
  }
  return {
    sealedKey: await seal(encodeDataKey({ datasetId: spec.dataset.id, key }), jobId, transportKey, digest),
    account,
    jobId,
  };
}

async function seal(
  dataKey: Uint8Array,
  jobId: Uint8Array,
  transportKey: Uint8Array,
  aad: Uint8Array,
): Promise<Uint8Array> {
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
  const buffer = (bytes: Uint8Array): ArrayBuffer => bytes.slice().buffer;
  const sender = await suite
    .createSenderContext({
      recipientPublicKey: await suite.kem.importKey('raw', buffer(transportKey), true),
      info: buffer(keyReleaseInfo(jobId)),
    })
    .catch(() => refuse('BROKER_TRANSPORT_KEY', 'an X25519 public key', transportKey));
  const sealed = await sender.seal(buffer(dataKey), buffer(aad));
  return concatBytes(new Uint8Array(sender.enc), new Uint8Array(sealed));
}

function same(code: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) refuse(code, toHex(expected), got);
}

function refuse(code: string, expected: string, got: string | Uint8Array): never {
  throw new Rejection(code, {
    expected,
    got: typeof got === 'string' ? got : toHex(got),
    rule: "the data owner's release policy",
    action: 'ask the data owner to name this prover, or submit a job that is allowed',
  });
}
