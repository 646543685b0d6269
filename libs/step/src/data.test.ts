import { createHash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, toHex, uintBe, utf8 } from '#attestation/base';
import {
  blockOfStep,
  blocksOfSteps,
  checkMerklePath,
  checkSuperblocks,
  commitDataset,
  commitWeights,
  dataDigest,
  datasetRoot,
  decodeWeights,
  encodeWeights,
  epochCoefficients,
  expTable,
  initialWeights,
  makeRecords,
  merklePath,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  profileManifest,
  shuffledIndices,
  splitRecords,
  stateDigest,
} from './index.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const mnist = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 9370, seed });
const tiny = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 4, steps: 8, seed, superblock: 2 });

describe('exp tables, libs/step/SPEC.md §6 (the digests are checked where a table is made)', () => {
  it.each<[number, number, number, number[]]>([
    [10, 6, 488, [1024, 1008, 992, 977, 962, 947, 932, 918]],
    [8, 4, 100, [256, 240, 226, 212, 199, 187, 176, 165]],
    [12, 8, 2307, [4096, 4080, 4064, 4048, 4032, 4017, 4001, 3986]],
  ])('E = %i, a = %i', (E, a, nonZero, first) => {
    const table = expTable(E, a);
    expect(table.filter((entry) => entry !== 0)).toHaveLength(nonZero);
    expect(Array.from(table.slice(0, 8))).toEqual(first);
  });
});

describe('order, libs/step/SPEC.md §9', () => {
  it('draws the coefficients and blocks of the page', () => {
    expect(epochCoefficients(seed, 0, 937)).toEqual({ alpha: 869, beta: 894 });
    expect(epochCoefficients(seed, 1, 937)).toEqual({ alpha: 519, beta: 572 });
    expect([0, 1, 2, 3].map((t) => blockOfStep(mnist, t, 60_000))).toEqual([894, 826, 758, 690]);
    expect([937, 938, 939, 940].map((t) => blockOfStep(mnist, t, 60_000))).toEqual([572, 154, 673, 255]);
  });

  it('shuffles as on the page', () => {
    expect(Array.from(shuffledIndices(seed, 60_000).slice(0, 6))).toEqual([50119, 45911, 4008, 27536, 37410, 27532]);
  });

  it('visits every used block once per epoch, superblocks in one piece', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 8, max: 200 }), (logS, records) => {
        const superblock = 1 << logS;
        fc.pre(records >= 2 * superblock);
        const m = { ...tiny, superblock };
        const epochSteps = Math.floor(Math.floor(records / 2) / superblock) * superblock;
        const blocks = [...blocksOfSteps(m, epochSteps, epochSteps, records)];
        expect([...blocks].sort((a, b) => a - b)).toEqual(Array.from({ length: epochSteps }, (_, i) => i));
        blocks.forEach((block, t) => {
          expect(block).toBe(blockOfStep(m, epochSteps + t, records));
          if (t % superblock > 0) expect(block).toBe(blocks[t - 1]! + 1);
        });
      }),
    );
  });

  it('finds the block where α times a step is beyond what a double carries', () => {
    const [records, m] = [500_000_003, { ...tiny, batch: 1, superblock: 1 }];
    const { alpha, beta } = epochCoefficients(m.seed, 0, records);
    for (const step of [records - 1, records - 2, 400_000_001, 123_456_789]) {
      const block = Number((BigInt(alpha) * BigInt(step) + BigInt(beta)) % BigInt(records));
      expect([blockOfStep(m, step, records), ...blocksOfSteps(m, step, 1, records)]).toEqual([block, block]);
    }
  });

  it('refuses fewer records than one superblock', () => {
    expect(() => blockOfStep(tiny, 0, 3)).toThrow('ORDER_TOO_FEW_RECORDS');
  });
});

describe('IDX files', () => {
  const images = concatBytes(
    uintBe(0x803, 4),
    uintBe(5, 4),
    uintBe(1, 4),
    uintBe(3, 4),
    new Uint8Array(15).map((_, i) => i),
  );
  const labels = concatBytes(uintBe(0x801, 4), uintBe(5, 4), Uint8Array.of(0, 1, 1, 0, 1));

  it('makes records, and takes them apart, in shuffled order', () => {
    const parsed = parseIdxImages(images);
    expect(parsed).toMatchObject({ count: 5, pixels: 3 });
    const indices = Uint32Array.of(4, 0, 2, 1, 3);
    const records = makeRecords(parsed, parseIdxLabels(labels), indices);
    expect(Array.from(records.slice(0, 8))).toEqual([12, 13, 14, 1, 0, 1, 2, 0]);
    expect(splitRecords(tiny, records)).toEqual(orderExamples(tiny, parsed, parseIdxLabels(labels), indices));
  });

  it.each<[string, Uint8Array]>([
    ['IDX_TRUNCATED', images.slice(0, 15)],
    ['IDX_LENGTH', images.slice(0, -1)],
    ['IDX_LENGTH', concatBytes(images, Uint8Array.of(0))],
    ['IDX_MAGIC', concatBytes(labels, new Uint8Array(8))],
    ['IDX_SIZE', concatBytes(uintBe(0x803, 4), uintBe(0, 4), uintBe(1, 4), uintBe(3, 4))],
    ['IDX_SIZE', concatBytes(uintBe(0x803, 4), uintBe(1, 4), uintBe(0, 4), uintBe(3, 4))],
    ['IDX_SIZE', concatBytes(uintBe(0x803, 4), uintBe(0xffffffff, 4), uintBe(1, 4), uintBe(3, 4))],
  ])('refuses with %s', (code, bytes) => {
    expect(() => parseIdxImages(bytes)).toThrow(expect.objectContaining({ code }));
  });

  it('refuses an oversize file before reading it', () => {
    const claimed = Object.defineProperty(images.slice(), 'length', { value: 2 ** 31 });
    expect(() => parseIdxImages(claimed)).toThrow(expect.objectContaining({ code: 'IDX_OVERSIZE' }));
  });

  it('refuses a label that is no class', () => {
    const records = Uint8Array.of(1, 2, 3, 1, 4, 5, 6, 2);
    expect(() => splitRecords(tiny, records)).toThrow(expect.objectContaining({ code: 'LABEL_RANGE' }));
    expect(() => splitRecords(tiny, records.slice(1))).toThrow(expect.objectContaining({ code: 'RECORDS_LENGTH' }));
    const order = Uint32Array.of(0, 1, 2, 3, 4);
    const bad = Uint8Array.of(0, 1, 9, 0, 0);
    expect(() => orderExamples(tiny, parseIdxImages(images), bad, order)).toThrow('LABEL_RANGE');
    expect(() => orderExamples(mnist, parseIdxImages(images), bad, order)).toThrow('RECORDS_WIDTH');
    expect(() => makeRecords(parseIdxImages(images), bad.slice(1), order)).toThrow('RECORDS_COUNT');
  });
});

describe('commitments, libs/step/SPEC.md §17', () => {
  const records = new Uint8Array(4 * 2 * 2 * 5 + 4).map((_, i) => (i % 4 === 3 ? i % 2 : (i * 37) & 255));

  it('hashes a superblock as the page says', async () => {
    const part = records.slice(16, 32);
    const bulk = createHash('sha256').update(part).digest();
    const expected = keccak_256(concatBytes(keccak_256(utf8('fxt-data/state-keccak/v1')), uintBe(1, 8), bulk));
    expect(toHex(await dataDigest('state-keccak', 1, part))).toBe(toHex(expected));
  });

  it('roots five superblocks in a padded tree with paths for each', async () => {
    const { root, dataDigests } = await commitDataset('state-keccak', tiny, records);
    expect(dataDigests).toHaveLength(5);
    const leaf = (i: number) =>
      dataDigests[i] ? keccak_256(concatBytes(Uint8Array.of(1), dataDigests[i])) : new Uint8Array(32);
    const node = (l: Uint8Array, r: Uint8Array) => keccak_256(concatBytes(l, r));
    const pair = (i: number) => node(leaf(2 * i), leaf(2 * i + 1));
    expect(toHex(root)).toBe(toHex(node(node(pair(0), pair(1)), node(pair(2), pair(3)))));
    expect(datasetRoot(dataDigests)).toEqual(root);
    dataDigests.forEach((digest, index) => {
      const path = merklePath(dataDigests, index);
      checkMerklePath(root, digest, index, path);
      expect(() => checkMerklePath(root, digest, index ^ 1, path)).toThrow('MERKLE_PATH');
      expect(() => checkMerklePath(root, digest, index + 8, path)).toThrow('MERKLE_INDEX');
      expect(() => checkMerklePath(root, digest.slice(1), index, path)).toThrow('MERKLE_DIGEST');
    });
    expect(() => merklePath(dataDigests, 5)).toThrow('MERKLE_INDEX');
    expect(() => datasetRoot([])).toThrow('MERKLE_EMPTY');
  });

  it('finds a changed, moved or cut superblock', async () => {
    const { dataDigests } = await commitDataset('state-keccak', tiny, records);
    const shard = records.slice(16, 48);
    await checkSuperblocks('state-keccak', tiny, shard, 1, dataDigests);
    await expect(checkSuperblocks('state-keccak', tiny, shard, 0, dataDigests)).rejects.toThrow('DATA_DIGEST');
    await expect(checkSuperblocks('state-keccak', tiny, shard, 4, dataDigests)).rejects.toThrow('DATA_DIGEST');
    await expect(checkSuperblocks('state-keccak', tiny, shard.slice(1), 1, dataDigests)).rejects.toThrow(
      'RECORDS_LENGTH',
    );
    shard[20]! ^= 1;
    await expect(checkSuperblocks('state-keccak', tiny, shard, 1, dataDigests)).rejects.toThrow('superblock 2');
  });

  it('commits to weights and their layout', () => {
    const weights = initialWeights(tiny);
    const { scheme, root, layoutDigest } = commitWeights('state-keccak', tiny, weights);
    const layout =
      '[{"dims":[3,4],"name":"W1"},{"dims":[4],"name":"b1"},{"dims":[4,2],"name":"W2"},{"dims":[2],"name":"b2"}]';
    expect(scheme).toBe('state-keccak');
    expect(root).toEqual(stateDigest(tiny, weights));
    expect(layoutDigest).toEqual(keccak_256(utf8(`veritrain/layout/state-keccak/v1${layout}`)));
    expect(() => commitWeights('toString', tiny, weights)).toThrow('COMMITMENT_SCHEME');
  });

  it('carries weights as bytes and refuses others', () => {
    const weights = initialWeights(tiny);
    const bytes = encodeWeights(weights);
    expect(decodeWeights(tiny, bytes)).toEqual(weights);
    expect(() => decodeWeights(tiny, bytes.slice(8))).toThrow('WEIGHTS_LENGTH');
    bytes.fill(0x7f, 0, 8);
    expect(() => decodeWeights(tiny, bytes)).toThrow('WEIGHTS_RANGE');
  });
});
