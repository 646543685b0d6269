import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toHex, utf8 } from '../base/bytes.js';
import { challengeMessage, checkChallenge, encodeChallenge, parseChallenge } from './challenge.js';
import { checkpointSecret, hostSecretOf } from './checkpoint.js';
import {
  chunkBytes,
  chunkListDigest,
  chunksMax,
  chunksOf,
  ciphertextDigest,
  deliveryHasher,
  resultChunksMax,
} from './delivery.js';

const sha = (...parts: readonly (string | Uint8Array)[]): Uint8Array =>
  new Uint8Array(parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest());
const u64 = (value: number): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
const filled = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => (at * 31) & 255);
const [job, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

describe('the digest of a delivery', () => {
  it.each([0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes])(
    'of %d bytes is over its chunks',
    (length) => {
      const bytes = filled(length);
      const hashes = Array.from({ length: Math.ceil(length / chunkBytes) }, (_, i) =>
        sha(bytes.slice(i * chunkBytes, (i + 1) * chunkBytes)),
      );
      expect(ciphertextDigest(bytes)).toEqual(sha('veritrain/chunks/1', u64(length), ...hashes));
      expect(chunkListDigest(length, hashes)).toEqual(ciphertextDigest(bytes));
      expect(
        chunksOf(bytes)
          .map(({ length: size }) => size)
          .reduce((a, b) => a + b, 0),
      ).toBe(length);
    },
  );

  it('is the same of a ciphertext that comes in parts of any size', () => {
    const bytes = filled(3 * chunkBytes + 5);
    for (const size of [1000, chunkBytes, chunkBytes + 1, bytes.length]) {
      const hasher = deliveryHasher();
      for (let at = 0; at < bytes.length; at += size) hasher.update(bytes.subarray(at, at + size));
      expect(hasher.end()).toMatchObject({ bytes: bytes.length, digest: ciphertextDigest(bytes) });
    }
  });

  it('of more than 171 chunks is told as a list alone, for no chain takes them', () => {
    const hashes = Array.from({ length: chunksMax + 1 }, () => job);
    expect(chunkListDigest(hashes.length * chunkBytes, hashes)).toHaveLength(32);
    expect(() => chunkListDigest((resultChunksMax + 1) * chunkBytes, [])).toThrow(/DELIVERY_SIZE/);
  });

  it('S-H3 is of no more than 171 chunks, and of as many as the length has', () => {
    const most = chunksMax * chunkBytes;
    expect(() => ciphertextDigest(new Uint8Array(most + 1))).toThrow(/DELIVERY_SIZE/);
    const hashes = Array.from({ length: chunksMax }, () => job);
    expect(chunkListDigest(most, hashes)).toHaveLength(32);
    for (const list of [hashes.slice(1), [...hashes, job]]) {
      expect(() => chunkListDigest(most, list)).toThrow(/DELIVERY_CHUNKS/);
    }
    expect(() => chunkListDigest(1, [new Uint8Array(31)])).toThrow(/DIGEST_LENGTH/);
  });
});

describe('a challenge', () => {
  const macOf = (jobId: Uint8Array, time: number, random: Uint8Array): Uint8Array =>
    new Uint8Array(createHmac('sha256', 'secret').update(challengeMessage(jobId, { time, random })).digest());
  const random = filled(8);
  const nonce = encodeChallenge({ time: 1_780_000_000, random }, macOf(job, 1_780_000_000, random));

  it('W-H1 says itself when and for which job it was made, and is kept nowhere', () => {
    expect(nonce).toHaveLength(32);
    const { time, random: drawn } = parseChallenge(nonce);
    expect([time, drawn]).toEqual([1_780_000_000, random]);
    checkChallenge(nonce, macOf(job, time, drawn));
    expect(() => checkChallenge(nonce, macOf(other, time, drawn))).toThrow(/CHALLENGE_MAC/);
    for (let at = 0; at < nonce.length; at++) {
      const changed = nonce.map((byte, index) => (index === at ? byte ^ 1 : byte));
      const check = (): void => {
        const read = parseChallenge(changed);
        checkChallenge(changed, macOf(job, read.time, read.random));
      };
      expect(check).toThrow(/CHALLENGE_(MAC|TIME)/);
    }
    expect(() => parseChallenge(nonce.subarray(1))).toThrow(/DIGEST_LENGTH/);
  });
});

describe('the secret of checkpoints', () => {
  it('N11 is of data key and host alike, and the host’s is of one escrow', () => {
    const settings = utf8('made for this test');
    const secret = hostSecretOf(settings, job);
    const expected = createHmac('sha256', settings).update('veritrain/host-secret/1').update(job).digest('hex');
    expect(toHex(secret)).toBe(expected);
    expect(hostSecretOf(settings, other)).not.toEqual(secret);
    expect(toHex(checkpointSecret(job, secret))).toBe(toHex(job) + expected);
    expect(() => checkpointSecret(job, new Uint8Array())).toThrow(/DIGEST_LENGTH/);
  });
});
