/** What a data owner does once: shuffle, block, commit, encrypt (fixed-point §9; enclave SPEC, shards). */
import { randomBytes, webcrypto } from 'node:crypto';
import { shardAssociatedData, shardBytesMax, shardTagBytes, type DatasetManifest } from '#attestation';
import {
  commitDataset,
  makeRecords,
  orderSize,
  recordBytes,
  shuffledIndices,
  type IdxImages,
  type Manifest,
} from '#libs/step';

export interface SealedDataset {
  readonly manifest: DatasetManifest;
  readonly dataKey: Uint8Array;
  /** Ciphertext of shard `index`, encrypted when asked for: only one shard is in memory at a time. */
  shard(index: number): Promise<Uint8Array>;
}

const shardRecordBytesTarget = 4 * 1024 * 1024;

/**
 * @param m  gives batch, superblock, widths and the shuffle's seed
 * @throws Rejection ORDER_TOO_FEW_RECORDS, RECORDS_COUNT
 */
export async function sealDataset(m: Manifest, images: IdxImages, labels: Uint8Array): Promise<SealedDataset> {
  const records = makeRecords(images, labels, shuffledIndices(m.seed, images.count));
  const unit = m.batch * m.superblock;
  const used = orderSize(m, images.count).superblocks * unit;
  const { root } = await commitDataset('state-keccak', m, records.subarray(0, used * recordBytes(m)));
  const perShard = recordsPerShard(unit * recordBytes(m)) * unit;
  const id = new Uint8Array(randomBytes(32));
  const dataKey = new Uint8Array(randomBytes(32));
  const key = await webcrypto.subtle.importKey('raw', dataKey, 'AES-GCM', false, ['encrypt']);
  const nonces = Array.from({ length: Math.ceil(used / perShard) }, () => new Uint8Array(randomBytes(12)));
  const encrypt = async (index: number): Promise<Uint8Array> => {
    const plaintext = records.slice(
      index * perShard * recordBytes(m),
      Math.min((index + 1) * perShard, used) * recordBytes(m),
    );
    const additionalData = shardAssociatedData({ id, root, shards: { length: nonces.length } }, index);
    return new Uint8Array(
      await webcrypto.subtle.encrypt({ name: 'AES-GCM', iv: nonces[index]!, additionalData }, key, plaintext),
    );
  };
  const shards: DatasetManifest['shards'][number][] = [];
  for (const [index, nonce] of nonces.entries()) {
    const ciphertext = await encrypt(index);
    const sha256 = new Uint8Array(await webcrypto.subtle.digest('SHA-256', ciphertext as Uint8Array<ArrayBuffer>));
    const count = (ciphertext.length - shardTagBytes) / recordBytes(m);
    shards.push({ records: count, bytes: ciphertext.length, nonce, sha256 });
  }
  const manifest: DatasetManifest = {
    version: 1,
    id,
    root,
    scheme: 'state-keccak',
    records: used,
    features: m.dims[0]!,
    classes: m.dims.at(-1)!,
    batch: m.batch,
    superblock: m.superblock,
    shards,
  };
  return { manifest, dataKey, shard: encrypt };
}

/** Whole units (superblocks) per shard, so that a shard is about the target size and never above the limit. */
function recordsPerShard(unitBytes: number): number {
  const target = Math.min(shardRecordBytesTarget, shardBytesMax - shardTagBytes);
  return Math.max(1, Math.floor(target / unitBytes));
}
