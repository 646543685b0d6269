import { ed25519 } from '@noble/curves/ed25519.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { edwardsHolds, edwardsHoldsSoon } from './edwards.js';

const secret = new Uint8Array(32).fill(7);
const key = ed25519.getPublicKey(secret);
const message = new TextEncoder().encode('message');
const signature = ed25519.sign(message, secret);
const p = 2n ** 255n - 19n;
const order = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn;

function le(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
}

const both = async (of: Uint8Array, over: Uint8Array, by: Uint8Array): Promise<boolean[]> => [
  edwardsHolds(of, over, by),
  await edwardsHoldsSoon(of, over, by),
];

describe('Ed25519 with the platform’s yes', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('takes what the slow rule takes, and refuses every flipped bit', async () => {
    expect(await both(signature, message, key)).toEqual([true, true]);
    for (let bit = 0; bit < 512; bit += 29) {
      const flipped = signature.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(await both(flipped, message, key), `bit ${bit}`).toEqual([false, false]);
    }
  });

  // The identity signs everything: s = 0 and R = −kA = A. The platform takes it.
  it.each([
    ['the identity', le(1n)],
    ['a point of order 2', le(p - 1n)],
    ['a point of order 4', le(0n)],
    ['a second encoding of the identity', le(p + 1n)],
  ])('takes no signature under %s', async (_name, weak) => {
    const forged = new Uint8Array([...le(1n), ...new Uint8Array(32)]);
    for (let turn = 0; turn < 8; turn++) {
      expect(await both(forged, Uint8Array.of(turn), weak)).toEqual([false, false]);
    }
  });

  it('takes no second signature: s + L', async () => {
    const s = signature.subarray(32).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    expect(await both(new Uint8Array([...signature.subarray(0, 32), ...le(s + order)]), message, key)).toEqual([
      ...[false, false],
    ]);
  });

  it('does without a platform that knows the algorithm, and names a key of another length', async () => {
    const other = ed25519.getPublicKey(new Uint8Array(32).fill(9));
    vi.spyOn(globalThis.crypto.subtle, 'importKey').mockRejectedValue(new Error('not known'));
    const held = ed25519.sign(message, new Uint8Array(32).fill(9));
    expect([await edwardsHoldsSoon(held, message, other), await edwardsHoldsSoon(signature, message, other)]).toEqual([
      ...[true, false],
    ]);
    await expect(edwardsHoldsSoon(signature, message, key.subarray(1))).rejects.toMatchObject({ code: 'COSE_KEY' });
  });
});
