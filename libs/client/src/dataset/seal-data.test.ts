/** A table sealed for a net: two sets with a root each under one key, as an enclave opens them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { concatBytes, fromHex, to0x } from '#attestation/base';
import { readSealedDataset, shardCount, type NetDatasetManifest } from '#attestation/records';
import { openShard } from '#libs/sealing';
import { savez } from '#test/npz';
import {
  canonicalManifest,
  commitDataset,
  dataDigest,
  netDatasetRoot,
  parseDataHeader,
  parseJobManifest,
  shuffledIndices,
  splitNetRecords,
  type NetManifest,
} from '#libs/step';
import { sealData } from './seal-data.js';
import { shardPath } from './files.js';

const home = mkdtempSync(join(tmpdir(), 'veritrain-seal-data-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const seed = `0x${'5a'.repeat(32)}`;
const json = {
  ...{ fxt: 2, seed, batch: 4, superblock: 2, steps: 8, a: 8, g: 12, wint: 3, labelShape: [] },
  ...{ input: { shape: [4], dtype: 'int16', frac: 12 }, optimizer: { kind: 'sgd-exact', e: 8, m: [[0, 1]] } },
  ...{ loss: { kind: 'softmax-ce', E: 12, k: 40 }, layers: [{ op: 'dense', out: 3, a: 8 }] },
  evaluate: { every: 4, metrics: ['accuracy'], batch: 8 },
};
const rows = 103;
const labelOf = (row: number): string => ['ant', 'bee', 'cat'][row % 3]!;
const line = (row: number): string => `${row},${row * row},${row % 2 === 0 ? 'red' : 'blue'},${labelOf(row)}`;
const csv = (from: number, to: number): string =>
  ['x,square,color,label', ...Array.from({ length: to - from }, (_, i) => line(from + i)), ''].join('\n');
const written = (name: string, text: string): string => {
  writeFileSync(join(home, name), text);
  return join(home, name);
};
const manifestFile = (name: string, more: object = {}): string =>
  written(name, new TextDecoder().decode(canonicalManifest(parseJobManifest({ ...json, ...more }))));
const manifest = manifestFile('manifest.json');
const m = parseJobManifest(json) as NetManifest;
const data = written('data.csv', csv(0, rows));

let out: string;
let key: string;
let round = 0;
beforeEach(() => {
  out = join(home, `data-${(round += 1)}`);
  key = join(home, `key-${round}.json`);
});
const request = (more: object = {}) => ({ manifest, data, validation: '20%', out, key, ...more });

/** All records of each set, decrypted. */
async function opened(): Promise<{ sealed: NetDatasetManifest; training: Uint8Array; validation: Uint8Array }> {
  const sealed = readSealedDataset(new Uint8Array(readFileSync(join(out, 'dataset.json')))) as NetDatasetManifest;
  const { key: secret } = JSON.parse(readFileSync(key, 'utf8')) as { key: string };
  const parts: Uint8Array[] = [];
  for (let index = 0; index < shardCount(sealed); index++) {
    parts.push(await openShard(sealed, index, new Uint8Array(readFileSync(shardPath(out, index))), fromHex(secret)));
  }
  const cut = sealed.shards.length;
  return { sealed, training: concatBytes(...parts.slice(0, cut)), validation: concatBytes(...parts.slice(cut)) };
}

describe('a table', () => {
  it('is sealed by one process at a time', async () => {
    const both = await Promise.allSettled([sealData(request()), sealData(request())]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(both[1]).toMatchObject({ reason: { code: 'SEAL_BUSY' } });
    expect(existsSync(`${out}.lock`)).toBe(false);
    await sealData(request());
  });

  it('is split, encoded and committed to, and opens set by set', async () => {
    const { dataset, report } = await sealData(request());
    const { sealed, training, validation } = await opened();
    expect(sealed).toEqual(dataset);
    expect(report).toMatchObject({ rows, train: 82, validation: 21 });
    expect([sealed.records, sealed.validation!.records, sealed.validation!.batch]).toEqual([80, 21, 8]);
    const header = parseDataHeader(sealed.header);
    const { dataDigests } = await commitDataset('state-keccak', m, training);
    expect(sealed.root).toEqual(netDatasetRoot(header, dataDigests));
    const blocks = [0, 1, 2].map((index) => {
      const block = validation.subarray(index * 8 * sealed.recordBytes, (index + 1) * 8 * sealed.recordBytes);
      return dataDigest('state-keccak', index, block);
    });
    expect(sealed.validation!.root).toEqual(netDatasetRoot(header, await Promise.all(blocks)));
    const order = [...shuffledIndices(seed, rows)];
    const labels = [...splitNetRecords(m, validation).labels, ...splitNetRecords(m, training).labels];
    expect(labels).toEqual(order.slice(0, 101).map((row) => row % 3));
    expect(existsSync(`${out}.work`)).toBe(false);
  });

  it('binds every shard to its set', async () => {
    const { dataset } = await sealData(request());
    const { key: secret } = JSON.parse(readFileSync(key, 'utf8')) as { key: string };
    const ciphertext = new Uint8Array(readFileSync(shardPath(out, 0)));
    const swapped = { ...dataset, root: dataset.validation!.root, validation: null };
    await expect(openShard(swapped, 0, ciphertext, fromHex(secret))).rejects.toThrow('SHARD_AUTHENTICATION');
    const { shards, records, root } = dataset;
    const asValidation = { ...dataset, validation: { shards, records, root, batch: 8 } };
    await expect(openShard(asValidation, 1, ciphertext, fromHex(secret))).rejects.toThrow('SHARD_AUTHENTICATION');
  });

  it('takes a validation set of its own as it is, and none where the manifest does not evaluate', async () => {
    const own = written('own.csv', csv(90, rows));
    const { dataset } = await sealData(request({ data: written('most.csv', csv(0, 90)), validation: own }));
    expect([dataset.records, dataset.validation?.records]).toEqual([88, 13]);
    expect(dataset.header).toMatchObject({ split: 'given' });
    const alone = request({ manifest: manifestFile('alone.json', { evaluate: null }), validation: undefined });
    expect((await sealData(alone)).dataset).toMatchObject({ records: 96, validation: null });
  });

  it('takes training and validation rows from arrays of one archive', async () => {
    const split = (from: number, count: number) => [
      { type: '<i2', shape: [count, 4], bytes: Buffer.alloc(8 * count, Buffer.from([from, 1])) },
      { type: '|u1', shape: [count], bytes: Buffer.from(Array.from({ length: count }, (_, i) => i % 3)) },
    ];
    const [[x_train, y_train], [x_test, y_test]] = [split(7, 40), split(9, 13)] as const;
    const archive = join(home, 'splits.npz');
    writeFileSync(archive, savez({ x_train: x_train!, y_train: y_train!, x_test: x_test!, y_test: y_test! }));
    const whole = manifestFile('arrays.json', { input: { ...json.input, frac: 0 } });
    const named = {
      ...{
        manifest: whole,
        data: archive,
        choices: { label: ['y'] },
        source: { arrays: { x: 'x_train', y: 'y_train' } },
      },
      validationSource: { arrays: { x: 'x_test', y: 'y_test' } },
    };
    await expect(sealData(request(named))).rejects.toThrow('SEAL_VALIDATION');
    const { dataset } = await sealData(request({ ...named, validation: archive }));
    expect([dataset.records, dataset.validation?.records]).toEqual([40, 13]);
    expect(dataset.header).toMatchObject({ split: 'given' });
  });

  it('goes on after an interruption at every point, under the same key once it is drawn', async () => {
    const ids = new Set<string>();
    for (let after = 1; ; after++) {
      const stop = new AbortController();
      let told = 0;
      const onProgress = (): void => ((told += 1) >= after ? stop.abort(new Error('stopped')) : undefined);
      const done = await sealData(request(), { onProgress, signal: stop.signal }).catch((error: Error) => error);
      if (existsSync(key)) ids.add((JSON.parse(readFileSync(key, 'utf8')) as { datasetId: string }).datasetId);
      if (existsSync(`${out}.work`)) expect(statSync(`${out}.work`).mode & 0o777).toBe(0o700);
      if (!(done instanceof Error)) {
        expect([...ids]).toEqual([to0x(done.dataset.id)]);
        break;
      }
      expect(done.message).toBe('stopped');
    }
    expect((await opened()).training.length).toBeGreaterThan(0);
  });

  const first = { fxt: 1, dims: [4, 3] };
  it.each<[string, object]>([
    ['SEAL_VALIDATION', { validation: undefined }],
    ['SEAL_VALIDATION', { manifest: manifestFile('no-evaluation.json', { evaluate: null }) }],
    ['MANIFEST_MISSING_FIELD', { manifest: written('first.json', JSON.stringify(first)) }],
    ['HEADER_FIT', { manifest: manifestFile('wide.json', { input: { ...json.input, shape: [5] } }) }],
    ['HEADER_FIT', { manifest: manifestFile('two.json', { layers: [{ op: 'dense', out: 2, a: 8 }] }) }],
    ['DATA_COLUMN_MISSING', { choices: { label: ['nothing'] } }],
    ['DATA_FILE', { data: join(home, 'none.csv') }],
    ['ORDER_TOO_FEW_RECORDS', { data: written('few.csv', csv(0, 9)) }],
  ])('%s', async (code, more) => {
    await expect(sealData(request(more))).rejects.toMatchObject({ code });
    expect(existsSync(join(out, 'dataset.json'))).toBe(false);
  });
});
