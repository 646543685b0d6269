import { x25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { openResult, sealResult } from './result.js';

const [maker, client] = [x25519.keygen(), x25519.keygen()];
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const common = { revealKey: bytes(1), jobId: bytes(2), last: bytes(3) };
const plaintext = Uint8Array.of(7, 8, 9);
const sealed = await sealResult(plaintext, { ...common, secret: maker.secretKey, peer: client.publicKey });
const own = { ...common, secret: client.secretKey, peer: maker.publicKey };

describe('a result', () => {
  it('opens for its recipient', async () => {
    expect(await openResult(sealed, own)).toEqual(plaintext);
  });

  it.each([
    ['another recipient', { secret: x25519.keygen().secretKey }],
    ['another maker', { peer: x25519.keygen().publicKey }],
    ['another reveal key', { revealKey: bytes(0) }],
    ['another job', { jobId: bytes(4) }],
    ['other last weights', { last: bytes(5) }],
  ])('does not open with %s', async (_, change) => {
    await expect(openResult(sealed, { ...own, ...change })).rejects.toMatchObject({ code: 'RESULT_DECRYPT' });
  });

  it.each([0, 11, 12, sealed.length - 1])('does not open when cut to %i bytes', async (length) => {
    await expect(openResult(sealed.subarray(0, length), own)).rejects.toMatchObject({ code: 'RESULT_DECRYPT' });
  });

  it('is neither made for nor opened with a key of small order', async () => {
    const context = { ...own, peer: bytes(0) };
    await expect(sealResult(plaintext, context)).rejects.toMatchObject({ code: 'RECIPIENT_KEY' });
    await expect(openResult(sealed, context)).rejects.toMatchObject({ code: 'RECIPIENT_KEY' });
  });
});
