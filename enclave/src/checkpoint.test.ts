import { describe, expect, it } from 'vitest';
import { encodeCanonical } from '#attestation';
import { sealWithNonce } from './aead.js';
import { checkpointKey, openCheckpoint, sealCheckpoint } from './checkpoint.js';

const jobId = new Uint8Array(32).fill(1);
const dataKey = new Uint8Array(32).fill(2);
const key = await checkpointKey(dataKey, jobId);
const checkpoint = { version: 1, step: 8, borders: [new Uint8Array(32)], weights: Uint8Array.of(1, 2, 3) } as const;
const sealed = await sealCheckpoint(key, jobId, checkpoint);

describe('checkpoints', () => {
  it('open as they were sealed', async () => {
    expect(await openCheckpoint(key, jobId, sealed)).toEqual(checkpoint);
  });

  it('never repeat a ciphertext', async () => {
    expect(await sealCheckpoint(key, jobId, checkpoint)).not.toEqual(sealed);
  });

  const otherJob = new Uint8Array(32).fill(9);
  it.each([
    ['the key of another job', async () => openCheckpoint(await checkpointKey(dataKey, otherJob), jobId, sealed)],
    ['another data key', async () => openCheckpoint(await checkpointKey(otherJob, jobId), jobId, sealed)],
    ['another job id', () => openCheckpoint(key, otherJob, sealed)],
  ])('do not open with %s', async (_, act) => {
    await expect(act()).rejects.toMatchObject({ code: 'CHECKPOINT_AUTHENTICATION' });
  });

  it('do not open with any byte flipped, nor cut anywhere', async () => {
    for (let at = 0; at < sealed.length; at++) {
      const flipped = sealed.slice();
      flipped[at]! ^= 0x80;
      for (const bytes of [flipped, sealed.subarray(0, at)]) {
        await expect(openCheckpoint(key, jobId, bytes)).rejects.toMatchObject({ code: 'CHECKPOINT_AUTHENTICATION' });
      }
    }
  });

  it('of another shape are refused although they authenticate', async () => {
    const tag = new TextEncoder().encode('veritrain/checkpoint/v1');
    const associatedData = new Uint8Array([...tag, ...jobId]);
    for (const [body, code] of [
      [encodeCanonical(new Map([['version', 1]])), 'MESSAGE_SHAPE'],
      [encodeCanonical([]), 'MESSAGE_SHAPE'],
      [Uint8Array.of(0xff), 'CBOR_MALFORMED'],
    ] as const) {
      const forged = await sealWithNonce(key, body, associatedData);
      await expect(openCheckpoint(key, jobId, forged)).rejects.toMatchObject({ code });
    }
  });
});
