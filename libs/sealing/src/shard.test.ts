import { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tinyDataset, tinyManifest, type TinyDataset } from '#test/tiny-job';
import { openShard } from './shard.js';

const data = await tinyDataset(tinyManifest());
const other = await tinyDataset(tinyManifest(), { salt: 2 });

const open = (index: number, bytes: Uint8Array, from: TinyDataset = data, key = from.key) =>
  openShard(from.manifest, index, bytes, key);

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = bytes.slice();
  copy[at]! ^= 1;
  return copy;
}

/** The manifest as a host that forges digests would hand it over: it names the bytes it has. */
async function named(from: TinyDataset, index: number, bytes: Uint8Array): Promise<TinyDataset> {
  const sha256 = new Uint8Array(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  const shards = from.manifest.shards.map((shard, i) => (i === index ? { ...shard, sha256 } : shard));
  return { ...from, manifest: { ...from.manifest, shards } };
}

describe('shards', () => {
  it('open into records of features and one label', async () => {
    const records = await open(0, data.shards[0]!);
    expect(records).toHaveLength(16 * 7);
    expect([...records].filter((_, at) => at % 7 === 6).every((label) => label < 3)).toBe(true);
  });

  it.each([
    ['an index that the manifest does not have', 'SHARD_INDEX', () => open(2, data.shards[0]!)],
    ['a truncated shard', 'SHARD_LENGTH', () => open(0, data.shards[0]!.subarray(1))],
    ['an empty shard', 'SHARD_LENGTH', () => open(0, new Uint8Array())],
    ['a longer shard', 'SHARD_LENGTH', () => open(0, new Uint8Array([...data.shards[0]!, 0]))],
    ['a flipped bit', 'SHARD_DIGEST', () => open(0, flipped(data.shards[0]!, 5))],
    ['a flipped bit in the tag', 'SHARD_DIGEST', () => open(0, flipped(data.shards[0]!, data.shards[0]!.length - 1))],
    ['a shard in the place of another', 'SHARD_DIGEST', () => open(0, data.shards[1]!)],
    ['a shard of another data set', 'SHARD_DIGEST', () => open(0, other.shards[0]!)],
    ['the key of another data set', 'SHARD_AUTHENTICATION', () => open(0, data.shards[0]!, data, other.key)],
  ])('refuse %s: %s', async (_, code, act) => {
    await expect(act()).rejects.toMatchObject({ code });
  });

  it.each([
    ['a flipped bit', flipped(data.shards[0]!, 5)],
    ['another shard of the data set', data.shards[1]!],
    ['a shard of another data set', other.shards[0]!],
  ])('refuse %s even where the manifest names its digest', async (_, bytes) => {
    const forged = await named(data, 0, bytes);
    await expect(open(0, bytes, forged)).rejects.toMatchObject({ code: 'SHARD_AUTHENTICATION' });
  });

  it.each([
    ['data set id', { id: new Uint8Array(32) }],
    ['dataset root', { root: new Uint8Array(32) }],
    ['number of shards', { shards: [...data.manifest.shards, data.manifest.shards[1]!] }],
  ])('are bound to their %s', async (_, change) => {
    const forged = { ...data, manifest: { ...data.manifest, ...change } };
    await expect(open(0, data.shards[0]!, forged)).rejects.toMatchObject({ code: 'SHARD_AUTHENTICATION' });
  });
});
