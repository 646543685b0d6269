import { x25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { openDataKey, sealDataKey } from './data-key.js';

const session = x25519.keygen();
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const release = { jobId: bytes(1), aad: bytes(2) };
const dataKey = { datasetId: bytes(3), key: bytes(4) };
const sealed = await sealDataKey(dataKey, release, session.publicKey);

describe('a data key', () => {
  it('opens for the key that it was sealed to', async () => {
    expect(await openDataKey(sealed, release, session.secretKey)).toEqual(dataKey);
  });

  it.each([
    ['another key', release, x25519.keygen().secretKey, sealed],
    ['another job', { ...release, jobId: bytes(5) }, session.secretKey, sealed],
    ['another release', { ...release, aad: bytes(5) }, session.secretKey, sealed],
    ['a byte less', release, session.secretKey, sealed.subarray(0, -1)],
    ['nothing', release, session.secretKey, new Uint8Array()],
  ])('does not open with %s', async (_, context, secret, given) => {
    await expect(openDataKey(given, context, secret)).rejects.toMatchObject({ code: 'UNSEAL_FAILED' });
  });

  it('is not sealed to a key of small order', async () => {
    await expect(sealDataKey(dataKey, release, bytes(0))).rejects.toMatchObject({ code: 'BROKER_TRANSPORT_KEY' });
  });
});
