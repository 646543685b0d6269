/** Opens the data key that a release names (attestation/src/records/key-release.ts). Anybody can seal one: `checkGrant` comes first. */
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { Rejection } from '#attestation/base';
import { keyReleaseAad, keyReleaseInfo, parseDataKey, type DataKey, type KeyBinding } from '#attestation/records';

const encapsulatedBytes = 32;

/**
 * @param sealed  encapsulated key (32 bytes) ‖ ciphertext
 * @param of      id of the job, and `jobDigest` of its escrow
 * @throws Rejection UNSEAL_FAILED when it was sealed to another session or for another job, DATA_KEY_LENGTH
 */
export async function unsealDataKey(
  sealed: Uint8Array,
  { jobId, job }: { readonly jobId: Uint8Array; readonly job: Uint8Array },
  session: { readonly binding: KeyBinding; readonly transportSecret: Uint8Array },
): Promise<DataKey> {
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
  try {
    const recipient = await suite.createRecipientContext({
      recipientKey: await suite.kem.importKey('raw', buffer(session.transportSecret), false),
      enc: buffer(sealed.subarray(0, encapsulatedBytes)),
      info: buffer(keyReleaseInfo(jobId)),
    });
    const opened = await recipient.open(
      buffer(sealed.subarray(encapsulatedBytes)),
      buffer(keyReleaseAad(session.binding, job)),
    );
    return parseDataKey(new Uint8Array(opened));
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw new Rejection('UNSEAL_FAILED', {
      expected: "a data key sealed to this session's transport key for this job",
      got: 'bytes that do not open',
      rule: 'RFC 9180 §5.1.1',
      action: 'ask the key broker for a release with the evidence of the running session',
    });
  }
}

function buffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer;
}
