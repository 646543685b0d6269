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
  isZero,
  jobIdOf,
  keyReleaseInfo,
  parseJobSpec,
  recoverAddress,
  taggedDigest,
  toHex,
} from '#attestation';
import { authoriseJob, releasable, refused, requireEscrow, requireSame } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { decide } from './decide.js';
import { recordRelease } from './journal.js';
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
 * @throws Rejection NONCE_*, BROKER_ASSURANCE, BROKER_PROVIDER, BROKER_PROVER, SEAL_SIGNATURE, those of authorise.ts,
 *   BROKER_JOBS; CollateralError of authorise.ts, BROKER_JOURNAL
 */
export async function releaseToProver(
  config: BrokerConfig,
  nonces: NonceBook,
  request: ProverReleaseRequest,
  at: number,
): Promise<{ sealedKey: Uint8Array }> {
  const { nonce, transportKey } = request;
  const spec = parseJobSpec(request.spec);
  const terms = decodeTerms(request.terms);
  const jobId = jobIdOf(spec);
  return decide({ config, nonces, nonce, jobId, at }, async () => {
    const digest = proverRequestDigest(jobId, nonce, transportKey);
    const account = recoverAddress(digest, request.signature);
    if (spec.assurance !== 'zk') throw refused('BROKER_ASSURANCE', "a job whose assurance is 'zk'", spec.assurance);
    const datasetId = spec.dataset.id;
    const key = authoriseJob(config, { spec, terms, jobId });
    if (!isZero(terms.provider)) requireSame('BROKER_PROVIDER', 'provider', terms.provider, account);
    if (config.provers?.has(toHex(account)) !== true) {
      throw refused('BROKER_PROVER', 'a prover that the data owner named', toHex(account));
    }
    await requireEscrow(config, terms, releasable);
    const sealedKey = await seal(encodeDataKey({ datasetId, key }), jobId, transportKey, digest);
    recordRelease(config, at, { datasetId, jobId, more: { prover: `0x${toHex(account)}` } });
    return { sealedKey };
  });
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
    .catch(() => {
      throw refused('BROKER_TRANSPORT_KEY', 'an X25519 public key', toHex(transportKey));
    });
  const sealed = await sender.seal(buffer(dataKey), buffer(aad));
  return concatBytes(new Uint8Array(sender.enc), new Uint8Array(sealed));
}
