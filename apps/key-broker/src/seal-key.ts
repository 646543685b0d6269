/** Seals a data key to one appraised session for one job and escrow: the other half of enclave/src/unseal.ts. */
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { concatBytes, Rejection, toHex } from '#attestation/base';
import { encodeDataKey, keyReleaseAad, keyReleaseInfo, type DataKey, type KeyBinding } from '#attestation/records';
import type { OrderedJob } from './authorise.js';

/**
 * @returns encapsulated key (32 bytes) ‖ ciphertext
 * @throws Rejection BROKER_TRANSPORT_KEY when nothing can be sealed to the session's key, for example a point of small order
 */
export async function sealDataKey(
  dataKey: DataKey,
  { jobId, job }: Pick<OrderedJob, 'jobId' | 'job'>,
  binding: KeyBinding,
): Promise<Uint8Array> {
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
  const sender = await suite
    .createSenderContext({
      recipientPublicKey: await suite.kem.importKey('raw', buffer(binding.transportKey), true),
      info: buffer(keyReleaseInfo(jobId)),
    })
    .catch(() => {
      throw new Rejection('BROKER_TRANSPORT_KEY', {
        expected: 'an X25519 public key',
        got: toHex(binding.transportKey),
        rule: 'RFC 7748 §6.1; RFC 9180 §7.1.4',
        action: 'open a session with a fresh transport key',
      });
    });
  const sealed = await sender.seal(buffer(encodeDataKey(dataKey)), buffer(keyReleaseAad(binding, job)));
  return concatBytes(new Uint8Array(sender.enc), new Uint8Array(sealed));
}

function buffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer;
}
