/** Sealing that is interrupted anywhere goes on where it was, and no nonce encrypts two plaintexts. */
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex, uintBe } from '#attestation/base';
import { readSealedDataset, shardCount, type DatasetManifest } from '#attestation/records';
import { openShard } from '#libs/sealing';
import { canonicalManifest, commitDataset, makeRecords, profileManifest, shuffledIndices } from '#libs/step';
import { shardPath } from './files.js';
import { sealFiles } from './seal-files.js';

const home = mkdtempSync(join(tmpdir(), 'veritrain-seal-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const seed = `0x${'5a'.repeat(32)}`;
const manifest = profileManifest('fx1', { dims: [4096, 16, 10], batch: 64, e: 8, steps: 20, seed });
const count = 3300;
const pixels = 4096;
const data = Uint8Array.from({ length: count * pixels }, (_, i) => (i * 2654435761) >>> 24);
const labels = Uint8Array.from({ length: count }, (_, i) => i % 10);
const used = count - (count % 64);
const expected = makeRecords({ count, pixels, data }, labels, shuffledIndices(seed, count)).subarray(
  0,
  used * (pixels + 1),
);
const files = { images: join(home, 'images'), labels: join(home, 'labels'), manifest: join(home, 'manifest.json') };
const imagesHead = concatBytes(Uint8Array.of(0, 0, 8, 3), uintBe(count, 4), uintBe(64, 4), uintBe(64, 4));
writeFileSync(files.images, concatBytes(imagesHead, data));
writeFileSync(files.labels, concatBytes(Uint8Array.of(0, 0, 8, 1), uintBe(count, 4), labels));
writeFileSync(files.manifest, canonicalManifest(manifest));

let out: string;
let key: string;
let round = 0;
beforeEach(() => {
  out = join(home, `data-${(round += 1)}`);
  key = join(home, `key-${round}.json`);
});

const seal = (stopAfter = Infinity, more = {}): Promise<DatasetManifest> => {
  const stop = new AbortController();
  let told = 0;
  const onProgress = (): void => ((told += 1) >= stopAfter ? stop.abort(new Error('stopped')) : undefined);
  return sealFiles({ ...files, out, key, ...more }, { onProgress, signal: stop.signal });
};
const keyOf = (): { datasetId: string; key: string } =>
  JSON.parse(readFileSync(key, 'utf8')) as { datasetId: string; key: string };
/** Ciphertext by nonce: seen again with other bytes, a nonce was used twice. */
function noteNonces(seen: Map<string, string>): void {
  const journal = join(out, '.sealing');
  if (!existsSync(journal)) return;
  for (const line of readFileSync(journal, 'utf8').split('\n').slice(1)) {
    if (!line.startsWith('["seal"')) continue;
    const [, , , nonce, sha256] = JSON.parse(line) as string[];
    expect(seen.get(nonce!) ?? sha256).toBe(sha256);
    seen.set(nonce!, sha256!);
  }
}

/** Opens what was sealed, as an enclave does, and compares it with the records. */
async function requireWhole(): Promise<void> {
  const sealed = readSealedDataset(new Uint8Array(readFileSync(join(out, 'dataset.json'))));
  const { datasetId, key: dataKey } = keyOf();
  expect(`0x${toHex(sealed.id)}`).toBe(datasetId);
  const parts: Uint8Array[] = [];
  for (let index = 0; index < shardCount(sealed); index++) {
    parts.push(await openShard(sealed, index, new Uint8Array(readFileSync(shardPath(out, index))), fromHex(dataKey)));
  }
  expect(Buffer.compare(concatBytes(...parts), expected)).toBe(0);
  expect(sealed.root).toEqual((await commitDataset('state-keccak', manifest, expected)).root);
  expect(existsSync(join(out, '.sealing'))).toBe(false);
}

describe('sealing', () => {
  it('makes what an enclave opens; the key is there before the first shard, for its owner alone', async () => {
    await expect(seal(1)).rejects.toThrow('stopped');
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(statSync(join(out, '.sealing')).mode & 0o777).toBe(0o600);
    expect(readdirSync(out)).toEqual(['.sealing']);
    await seal();
    await requireWhole();
  });

  it('goes on after every interruption with the same key, and keeps the shards it has', async () => {
    const seen = new Map<string, string>();
    for (let after = 1; after <= 7; after++) {
      await expect(seal(after)).rejects.toThrow('stopped');
      noteNonces(seen);
    }
    const { datasetId } = keyOf();
    const before = readFileSync(shardPath(out, 0));
    const { id } = await seal();
    expect(`0x${toHex(id)}`).toBe(datasetId);
    expect(readFileSync(shardPath(out, 0)).equals(before)).toBe(true);
    expect(seen.size).toBeGreaterThanOrEqual(3);
    await requireWhole();
  });

  it('seals a shard again, with a fresh nonce, that was changed or is gone', async () => {
    await expect(seal(7)).rejects.toThrow('stopped');
    const seen = new Map<string, string>();
    noteNonces(seen);
    writeFileSync(shardPath(out, 0), 'other bytes');
    rmSync(shardPath(out, 1));
    const { datasetId } = keyOf();
    const sealed = await seal();
    expect(keyOf().datasetId).toBe(datasetId);
    const nonces = sealed.shards.map(({ nonce }) => `0x${toHex(nonce)}`);
    expect(nonces.slice(0, 2).filter((nonce) => seen.has(nonce))).toEqual([]);
    await requireWhole();
  });

  it('takes a torn line of its journal for work that was not done', async () => {
    await expect(seal(6)).rejects.toThrow('stopped');
    appendFileSync(join(out, '.sealing'), '["seal","training",2,"0x00');
    const { datasetId } = keyOf();
    await expect(seal(7)).rejects.toThrow('stopped');
    await seal();
    expect(keyOf().datasetId).toBe(datasetId);
    await requireWhole();
  });

  it.each([
    ['something else is asked for', (): object => ({ recordsMax: 3200 })],
    ['the key is gone', (): object => (rmSync(key), {})],
    [
      'another key is in its place',
      (): object => (writeFileSync(key, `{"datasetId":"${keyOf().datasetId}","key":"0x00"}`), {}),
    ],
  ])('begins anew, under another key, where %s', async (_, change) => {
    await expect(seal(6)).rejects.toThrow('stopped');
    const first = keyOf();
    const { id } = await seal(Infinity, change());
    expect(keyOf().key).not.toBe(first.key);
    expect(`0x${toHex(id)}`).not.toBe(first.datasetId);
    expect(keyOf().datasetId).toBe(`0x${toHex(id)}`);
  });

  it('refuses more superblocks than one proof of several segments has room for, before it writes anything', async () => {
    const [path, images] = [join(home, 'units.json'), join(home, 'small')];
    const head = concatBytes(Uint8Array.of(0, 0, 8, 3), uintBe(count, 4), uintBe(4, 4), uintBe(4, 4));
    writeFileSync(images, concatBytes(head, data.subarray(0, 16 * count)));
    const units = { dims: [16, 8, 10], batch: 4, e: 8, steps: 600, seed, superblock: 8 };
    writeFileSync(path, canonicalManifest(profileManifest('fx1', units)));
    const asked = { manifest: path, images, provable: true, proofProfile: 'unit64' };
    await expect(seal(Infinity, asked)).rejects.toMatchObject({ code: 'STEP_STATEMENT' });
    expect([existsSync(join(out, '.sealing')), existsSync(key)]).toEqual([false, false]);
  });

  it('refuses records that are others at the second reading: SEAL_SOURCE_CHANGED', async () => {
    const path = join(home, 'altered');
    writeFileSync(path, concatBytes(imagesHead, data));
    let told = 0;
    const alter = (): void => {
      if ((told += 1) !== 4) return;
      writeFileSync(
        path,
        concatBytes(
          imagesHead,
          data.map((byte) => byte ^ 1),
        ),
      );
    };
    const sealing = sealFiles({ ...files, images: path, out, key }, { onProgress: alter });
    await expect(sealing).rejects.toMatchObject({ code: 'SEAL_SOURCE_CHANGED' });
    expect(existsSync(join(out, 'dataset.json'))).toBe(false);
  });
});
