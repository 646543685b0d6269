/** A data key, sealed with HPKE to whoever the key broker releases it to (attestation/src/records/key-release.ts). */
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { concatBytes, Rejection, toHex } from '#attestation/base';
import { encodeDataKey, keyReleaseInfo, parseDataKey, type DataKey } from '#attestation/records';

const encapsulatedBytes = 32;

/** What a release is for. */
interface ReleaseContext {
  readonly jobId: Uint8Array;
  /** `keyReleaseAad` of a session, or `proverRequestDigest` of a prover's request. */
  readonly aad: Uint8Array;
}

/**
 * @param transportKey  X25519 public key
 * @returns encapsulated key (32 bytes) ‖ ciphertext
 * @throws Rejection BROKER_TRANSPORT_KEY when nothing can be sealed to the key, for example a point of small order
 */
export async function sealDataKey(
  dataKey: DataKey,
  { jobId, aad }: ReleaseContext,
  transportKey: Uint8Array,
): Promise<Uint8Array> {
  const suite = cipherSuite();
  const sender = await suite
    .createSenderContext({
      recipientPublicKey: await suite.kem.importKey('raw', buffer(transportKey), true),
      info: buffer(keyReleaseInfo(jobId)),
    })
    .catch(() => {
      throw new Rejection('BROKER_TRANSPORT_KEY', {
        expected: 'an X25519 public key',
        got: toHex(transportKey),
        rule: 'RFC 7748 §6.1; RFC 9180 §7.1.4',
        action: 'ask again with a fresh transport key',
      });
    });
  const sealed = await sender.seal(buffer(encodeDataKey(dataKey)), buffer(aad));
  return concatBytes(new Uint8Array(sender.enc), new Uint8Array(sealed));
}

/**
 * Anybody can seal to a transport key: whoever opens has checked the broker's signed Release first.
 *
 * @param sealed           encapsulated key (32 bytes) ‖ ciphertext
 * @param transportSecret  X25519 private key, 32 bytes
 * @throws Rejection UNSEAL_FAILED when it was sealed to another key or for another job, DATA_KEY_LENGTH
 */
export async function openDataKey(
  sealed: Uint8Array,
  { jobId, aad }: ReleaseContext,
  transportSecret: Uint8Array,
): Promise<DataKey> {
  const suite = cipherSuite();
  try {
    const recipient = await suite.createRecipientContext({
      recipientKey: await suite.kem.importKey('raw', buffer(transportSecret), false),
      enc: buffer(sealed.subarray(0, encapsulatedBytes)),
      info: buffer(keyReleaseInfo(jobId)),
    });
    const opened = await recipient.open(buffer(sealed.subarray(encapsulatedBytes)), buffer(aad));
    return parseDataKey(new Uint8Array(opened));
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw new Rejection('UNSEAL_FAILED', {
      expected: 'a data key sealed to this transport key for this job',
      got: 'bytes that do not open',
      rule: 'RFC 9180 §5.1.1',
      action: 'ask the key broker for a new release',
    });
  }
}

function cipherSuite(): CipherSuite {
  return new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
}

function buffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer;
}
