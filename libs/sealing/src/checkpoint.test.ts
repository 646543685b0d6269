import { describe, expect, it } from 'vitest';
import { encodeCanonical, toCbor } from '#attestation/base';
import { deriveKey, sealWithNonce } from './aead.js';
import { checkpointKey, openCheckpoint, partialKey, sealCheckpoint } from './checkpoint.js';

const jobId = new Uint8Array(32).fill(1);
const dataKey = new Uint8Array(32).fill(2);
const hostSecret = new Uint8Array(32).fill(3);
const secrets = { dataKey, hostSecret, jobId };
const key = await checkpointKey(secrets);
const borders = [new Uint8Array(32)];
const empty = { links: [], sessions: [] };
const checkpoint = { version: 2, step: 8, borders, weights: Uint8Array.of(1, 2, 3), ...empty } as const;
const sealed = await sealCheckpoint(key, jobId, checkpoint);

describe('checkpoints', () => {
  it('open as they were sealed', async () => {
    expect(await openCheckpoint(key, jobId, sealed)).toEqual(checkpoint);
  });

  it('never repeat a ciphertext', async () => {
    expect(await sealCheckpoint(key, jobId, checkpoint)).not.toEqual(sealed);
  });

  const openedWith = async (change: Partial<typeof secrets>) =>
    openCheckpoint(await checkpointKey({ ...secrets, ...change }), jobId, sealed);
  const formerKey = () => deriveKey(dataKey, jobId, new TextEncoder().encode('veritrain/checkpoint/v1'));
  const otherJob = new Uint8Array(32).fill(9);
  it.each([
    ['the key of another job', () => openedWith({ jobId: otherJob })],
    ['N11 the host’s secret and another data key', () => openedWith({ dataKey: otherJob })],
    ['N11 the data key and another host’s secret', () => openedWith({ hostSecret: otherJob })],
    ['N11 the data key in both places', () => openedWith({ hostSecret: dataKey })],
    ['the key of partials', async () => openCheckpoint(await partialKey(secrets), jobId, sealed)],
    ['N11 the data key alone, as it was before', async () => openCheckpoint(await formerKey(), jobId, sealed)],
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
    const tag = new TextEncoder().encode('veritrain/checkpoint/v2');
    const associatedData = new Uint8Array([...tag, ...jobId]);
    for (const [body, code] of [
      [encodeCanonical(new Map([['version', 1]])), 'MESSAGE_SHAPE'],
      [encodeCanonical(toCbor({ version: 1, step: 8, borders, weights: new Uint8Array() })), 'MESSAGE_SHAPE'],
      [encodeCanonical([]), 'MESSAGE_SHAPE'],
      [Uint8Array.of(0xff), 'CBOR_MALFORMED'],
    ] as const) {
      const forged = await sealWithNonce(key, body, associatedData);
      await expect(openCheckpoint(key, jobId, forged)).rejects.toMatchObject({ code });
    }
  });
});
