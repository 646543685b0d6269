import { createHash } from 'node:crypto';
import { x25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { deliveryAssociatedData, deliveryKey, keyCommitment } from '#attestation/records';
import { openWithNonce } from '#libs/sealing';
import { sealDelivery } from './deliver.js';
import { createSessionKeys } from './keys.js';

const jobId = new Uint8Array(32).fill(1);
const last = new Uint8Array(32).fill(2);
const weights = Uint8Array.from({ length: 64 }, (_, at) => at);
const client = x25519.keygen();
const enclave = x25519.keygen();
const { binding } = await createSessionKeys({ provider: new Uint8Array(20), chainId: 1, registry: new Uint8Array(20) });
const keys = { binding: { ...binding, transportKey: enclave.publicKey }, transportSecret: enclave.secretKey };
const parties = { keys, recipient: client.publicKey, isRevealed: true };

async function opened(secret: Uint8Array, revealKey: Uint8Array, ciphertext: Uint8Array, end = last) {
  const key = deliveryKey(revealKey, x25519.getSharedSecret(secret, enclave.publicKey), jobId);
  return openWithNonce('RESULT', 'the result', key, ciphertext, deliveryAssociatedData(jobId, end));
}

describe('delivery', () => {
  it('opens for the client with the revealed key', async () => {
    const { ciphertext, revealKey, keyCommit, ciphertextDigest } = await sealDelivery(weights, parties, jobId, last);
    expect(await opened(client.secretKey, revealKey, ciphertext)).toEqual(weights);
    expect(keyCommit).toEqual(keyCommitment(revealKey));
    const one = createHash('sha256').update(ciphertext).digest();
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(ciphertext.length));
    const digest = createHash('sha256').update('veritrain/chunks/1').update(length).update(one).digest();
    expect(ciphertextDigest).toEqual(new Uint8Array(digest));
  });

  it('opens for the client at once where no payment reveals a key, and for nobody else', async () => {
    const { ciphertext, revealKey } = await sealDelivery(weights, { ...parties, isRevealed: false }, jobId, last);
    expect(revealKey).toEqual(new Uint8Array(32));
    expect(ciphertext.subarray(0, 32)).toEqual(enclave.publicKey);
    expect(await opened(client.secretKey, revealKey, ciphertext.subarray(32))).toEqual(weights);
    const stranger = x25519.keygen().secretKey;
    await expect(opened(stranger, revealKey, ciphertext.subarray(32))).rejects.toMatchObject({ code: 'RESULT' });
  });

  it('opens for nobody else, without the revealed key, or as another result', async () => {
    const { ciphertext, revealKey } = await sealDelivery(weights, parties, jobId, last);
    const stranger = x25519.keygen().secretKey;
    for (const attempt of [
      () => opened(stranger, revealKey, ciphertext),
      () => opened(client.secretKey, new Uint8Array(32), ciphertext),
      () => opened(client.secretKey, revealKey, ciphertext, jobId),
      () => opened(client.secretKey, revealKey, ciphertext.subarray(0, 5)),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'RESULT' });
    }
  });

  it.each([
    ['zero', new Uint8Array(32)],
    ['one', Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 1 : 0))],
    ['of order 8', x25519OfOrder8()],
  ])('refuses a recipient key of small order: %s', async (_, recipient) => {
    await expect(sealDelivery(weights, { ...parties, recipient }, jobId, last)).rejects.toMatchObject({
      code: 'RECIPIENT_KEY',
    });
  });
});

/** RFC 7748 §6.1 by way of the list at cr.yp.to/ecdh.html. */
function x25519OfOrder8(): Uint8Array {
  return Uint8Array.from(Buffer.from('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', 'hex'));
}
