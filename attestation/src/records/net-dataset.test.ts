/** Version 2 of the dataset manifest: what it says of two sets, and what of it is refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, Rejection, to0x, toHex, uintBe, utf8 } from '../base/index.js';
import { parseDatasetManifest } from './dataset-manifest.js';
import {
  isNetDataset,
  netShardAssociatedData,
  parseSealedDataset,
  readSealedDataset,
  sealedDatasetJson,
  shardAt,
  shardCount,
  type NetDatasetManifest,
} from './net-dataset.js';

const hex = (size: number, of = 7): string => to0x(new Uint8Array(size).fill(of));
const shard = (records: number, of: number) => ({
  ...{ records, bytes: records * 5 + 16 },
  ...{ nonce: hex(12, of), sha256: hex(32, of) },
});
const header = { layout: 2, features: { dtype: 'int16', shape: [2], frac: 12 }, columns: [{ values: ['a'] }] };
const json = {
  ...{ version: 2, id: hex(32, 1), root: hex(32, 2), header, records: 64, recordBytes: 5, batch: 16, superblock: 2 },
  shards: [shard(32, 10), shard(32, 11)],
  validation: { root: hex(32, 3), records: 24, batch: 8, shards: [shard(16, 12), shard(8, 13)] },
};
const both = parseSealedDataset(json) as NetDatasetManifest;

describe('a data set of layout 2', () => {
  it('comes back from its JSON, with a validation set and without', () => {
    for (const one of [
      json,
      { ...json, validation: null },
      { ...json, validation: { ...json.validation, batch: 16 } },
    ]) {
      const parsed = parseSealedDataset(one);
      expect(isNetDataset(parsed)).toBe(true);
      expect(sealedDatasetJson(parsed)).toEqual(one);
      expect(readSealedDataset(utf8(JSON.stringify(one)))).toEqual(parsed);
    }
  });

  it('is no data set of layout 1, nor the other way round', () => {
    expect(() => parseDatasetManifest(json)).toThrow(Rejection);
    const first = {
      ...{ version: 1, id: hex(32), root: hex(32), scheme: 'state-keccak', records: 32, features: 4, classes: 2 },
      ...{ batch: 16, superblock: 2, shards: [shard(32, 9)] },
    };
    const parsed = parseSealedDataset(first);
    expect(parsed).toEqual(parseDatasetManifest(first));
    expect(sealedDatasetJson(parsed)).toEqual(first);
    expect([shardCount(parsed), shardAt(parsed, 0)?.records, shardAt(parsed, 1)]).toEqual([1, 32, undefined]);
  });

  it('counts its shards through, those of the training set first', () => {
    const all = Array.from({ length: shardCount(both) + 1 }, (_, index) => shardAt(both, index));
    expect(all.map((one) => one && [one.set, one.records, one.nonce[0]])).toEqual([
      ['training', 32, 10],
      ['training', 32, 11],
      ['validation', 16, 12],
      ['validation', 8, 13],
      undefined,
    ]);
    expect(shardAt({ ...both, validation: null }, 2)).toBeUndefined();
    expect(shardAt(both, -1)).toBeUndefined();
  });

  it('binds a shard to data set, set, root, place and number', () => {
    const bound = (id: number, root: number, set: number, place: number): string =>
      toHex(
        concatBytes(
          ...[utf8('veritrain/shard/v2'), new Uint8Array(32).fill(id), new Uint8Array(32).fill(root)],
          ...[uintBe(set, 1), uintBe(place, 4), uintBe(2, 4)],
        ),
      );
    const found = [0, 1, 2, 3].map((index) => toHex(shardAt(both, index)!.associatedData));
    expect(found).toEqual([bound(1, 2, 0, 0), bound(1, 2, 0, 1), bound(1, 3, 1, 0), bound(1, 3, 1, 1)]);
    const of = { id: both.id, root: both.root, count: 2 };
    expect(netShardAssociatedData({ ...of, set: 'training' }, 0)).not.toEqual(
      netShardAssociatedData({ ...of, set: 'validation' }, 0),
    );
  });

  const nested = (depth: number): unknown => (depth === 0 ? 1 : { more: nested(depth - 1) });
  const set = json.validation;
  it.each<[string, string, unknown]>([
    ['DATASET_MANIFEST', 'other records than its shards', { ...json, records: 96 }],
    ['DATASET_MANIFEST', 'half a superblock', { ...json, superblock: 8 }],
    ['DATASET_MANIFEST', 'validation records that no shard holds', { ...json, validation: { ...set, records: 32 } }],
    ['DATASET_MANIFEST', 'records of another length', { ...json, recordBytes: 6 }],
    ['DATASET_MANIFEST', 'no header', { ...json, header: null }],
    ['DATASET_MANIFEST', 'a list as header', { ...json, header: [] }],
    ['DATASET_MANIFEST', 'a header that is nested too deep', { ...json, header: nested(10) }],
    ['DATASET_MANIFEST', 'more nesting than it has', { ...json, id: [[[[]]]] }],
    ['MESSAGE_SHAPE', 'no word on validation', { ...json, validation: undefined }],
    ['MESSAGE_SHAPE', 'a field too many', { ...json, scheme: 'state-keccak' }],
    ['MESSAGE_SHAPE', 'a validation set with a key of its own', { ...json, validation: { ...set, id: hex(32) } }],
    ['MESSAGE_SHAPE', 'version 3', { ...json, version: 3, header: {}, validation: null }],
    ['MESSAGE_SHAPE', 'nothing', null],
  ])('%s: with %s', (code, _, bad) => {
    expect(() => parseSealedDataset(bad)).toThrow(code);
  });

  it('is refused with a code, whatever a member is', () => {
    const paths = ['id', 'root', 'header', 'records', 'recordBytes', 'batch', 'superblock', 'shards', 'validation'];
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 4 }), (name, value) => {
        try {
          sealedDatasetJson(parseSealedDataset({ ...json, [name]: value }));
        } catch (error) {
          expect(error).toBeInstanceOf(Rejection);
        }
      }),
    );
  });
});
