import { describe, expect, it } from 'vitest';
import { fromUtf8, toHex, utf8 } from '#attestation/base';
import {
  canonicalManifest,
  manifestDigest,
  parseManifest,
  parseManifestText,
  profileManifest,
  stepSize,
} from './index.js';

const seed = `0x${'11'.repeat(32)}`;
const good = {
  fxt: 1,
  dims: [784, 64, 10],
  batch: 64,
  a: [8, 6, 6],
  abits: 12,
  ybits: 16,
  gbits: 16,
  g: [10, 10],
  e: [8, 8],
  wint: 2,
  loss: { kind: 'softmax-ce', E: 10, k: 26 },
  optimizer: { kind: 'sgd', m: [[0, 1]] },
  steps: 9370,
  order: 'affine',
  superblock: 1,
  seed,
};
const { superblock: _one, ...withoutSuperblock } = good;
const { seed: _seed, ...withoutSeed } = good;

describe('manifest, libs/step/SPEC.md §3', () => {
  it('reads the example of the page, equal to its profile', () => {
    const parsed = parseManifest(good);
    expect(parsed).toEqual(profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 9370, seed }));
    expect(parseManifest(withoutSuperblock)).toEqual(parsed);
    expect(parseManifestText(utf8(JSON.stringify(good)))).toEqual(parsed);
  });

  it('writes canonical bytes whatever the order of members', () => {
    const reversed = Object.fromEntries(Object.entries(good).reverse());
    expect(fromUtf8(canonicalManifest(parseManifest(reversed)))).toBe(
      '{"a":[8,6,6],"abits":12,"batch":64,"dims":[784,64,10],"e":[8,8],"fxt":1,"g":[10,10],"gbits":16,' +
        '"loss":{"E":10,"k":26,"kind":"softmax-ce"},"optimizer":{"kind":"sgd","m":[[0,1]]},"order":"affine",' +
        `"seed":"${seed}","steps":9370,"superblock":1,"wint":2,"ybits":16}`,
    );
    expect(manifestDigest(parseManifest(reversed))).toEqual(manifestDigest(parseManifest(withoutSuperblock)));
    expect(toHex(manifestDigest(parseManifest(good)))).not.toBe(
      toHex(manifestDigest(parseManifest({ ...good, steps: 9371 }))),
    );
  });

  it('finds the step size of a schedule', () => {
    const m = parseManifest({
      ...good,
      optimizer: {
        kind: 'sgd',
        m: [
          [0, 8],
          [10, 4],
          [20, 1],
        ],
      },
    });
    expect([0, 9, 10, 19, 20, 9000].map((step) => stepSize(m, step))).toEqual([8, 8, 4, 4, 1, 1]);
  });

  const sgd = (m: unknown) => ({ ...good, optimizer: { kind: 'sgd', m } });
  it.each<[string, unknown]>([
    ['MANIFEST_TYPE', null],
    ['MANIFEST_TYPE', [good]],
    ['MANIFEST_TYPE', { ...good, batch: '64' }],
    ['MANIFEST_TYPE', { ...good, batch: 64.5 }],
    ['MANIFEST_TYPE', { ...good, dims: 784 }],
    ['MANIFEST_TYPE', { ...good, steps: Infinity }],
    ['MANIFEST_UNKNOWN_FIELD', { ...good, extra: 1 }],
    ['MANIFEST_UNKNOWN_FIELD', { ...good, loss: { kind: 'mse', E: 10 } }],
    ['MANIFEST_UNKNOWN_FIELD', { ...good, optimizer: { kind: 'sgd', m: [[0, 1]], momentum: 3 } }],
    ['MANIFEST_MISSING_FIELD', withoutSeed],
    ['MANIFEST_VERSION', { ...good, fxt: 2 }],
    ['MANIFEST_RANGE', { ...good, batch: 0 }],
    ['MANIFEST_RANGE', { ...good, ybits: 17 }],
    ['MANIFEST_RANGE', { ...good, abits: 16 }],
    ['MANIFEST_RANGE', { ...good, dims: [784, 64, 1] }],
    ['MANIFEST_RANGE', { ...good, dims: [784, 64, 257] }],
    ['MANIFEST_LENGTH', { ...good, dims: [784] }],
    ['MANIFEST_LENGTH', { ...good, a: [8, 6] }],
    ['MANIFEST_LENGTH', { ...good, wint: [2] }],
    ['MANIFEST_LENGTH', { ...good, dims: Array.from({ length: 100 }, () => 2) }],
    ['MANIFEST_SIZE', { ...good, dims: [65536, 65536, 10] }],
    ['MANIFEST_LOSS', { ...good, loss: { kind: 'hinge' } }],
    ['MANIFEST_LOSS', { ...good, loss: { kind: 'softmax-ce', E: 10, k: 9 } }],
    ['MANIFEST_OPTIMIZER', { ...good, optimizer: { kind: 'momentum', q: 3, m: [[0, 1]] } }],
    ['MANIFEST_OPTIMIZER', { ...good, optimizer: { kind: 'sgd-rounded' } }],
    ['MANIFEST_SCHEDULE', sgd([])],
    ['MANIFEST_SCHEDULE', sgd([[1, 1]])],
    ['MANIFEST_SCHEDULE', sgd([[0, 0]])],
    ['MANIFEST_SCHEDULE', sgd([[0, 256]])],
    [
      'MANIFEST_SCHEDULE',
      sgd([
        [0, 1],
        [0, 2],
      ]),
    ],
    ['MANIFEST_ORDER', { ...good, order: 'random' }],
    ['MANIFEST_SUPERBLOCK', { ...good, superblock: 3 }],
    ['MANIFEST_SEED', { ...good, seed: `0x${'AA'.repeat(32)}` }],
    ['MANIFEST_SEED', { ...good, seed: '0x11' }],
  ])('refuses with %s', (code, json) => {
    expect(() => parseManifest(json)).toThrow(expect.objectContaining({ code, family: 'rejection' }));
  });

  it('refuses any depth of nesting without a crash', () => {
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const refused = (text: string) =>
      expect(() => parseManifestText(utf8(text))).toThrow(/^MANIFEST_(TYPE|VERSION|UNKNOWN_FIELD|MISSING_FIELD)/);
    refused(deep);
    refused(`{"fxt":${deep}}`);
    refused(JSON.stringify(good).replace('"batch":64', `"batch":${deep}`));
    refused(JSON.stringify(good).replace('"fxt":1', `"fxt":${deep}`));
    refused('{"__proto__":{"fxt":1}}');
  });

  it.each([
    ['MANIFEST_JSON', utf8('{"fxt":1')],
    ['MANIFEST_OVERSIZE', new Uint8Array(64 * 1024 + 1)],
    ['BYTES_UTF8', Uint8Array.of(0xff, 0xfe)],
  ])('refuses text with %s', (code, bytes) => {
    expect(() => parseManifestText(bytes)).toThrow(expect.objectContaining({ code }));
  });
});
