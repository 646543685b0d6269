/** What a data owner does once: shuffle, block, commit, encrypt (libs/step/SPEC.md §9; enclave/SPEC.md, shards). */
import { randomBytes, webcrypto } from 'node:crypto';
import { shardAssociatedData, shardBytesMax, shardTagBytes, type DatasetManifest } from '#attestation/records';
import { groth16Admission } from '#libs/proof';
import { sealShard } from '#libs/sealing';
import {
  classCount,
  commitDataset,
  datasetRoot,
  featureCount,
  makeRecords,
  orderSize,
  recordBytes,
  shuffledIndices,
  splitRecords,
  superblockRecords,
  type IdxImages,
  type Manifest,
} from '#libs/step';
import { commitmentFormat, createCommitter, dataDigestOf, dataSeed } from '#libs/zk/commit';
import { commitToData, dataBlind } from '#libs/zk/groth16/commitment';
import { groth16DataDigest } from '#libs/zk/verifier';

interface SealedDataset {
  readonly manifest: DatasetManifest;
  readonly dataKey: Uint8Array;
  /** Ciphertext of shard `index`, encrypted when asked for: only one shard is in memory at a time. */
  shard(index: number): Promise<Uint8Array>;
}

const shardRecordBytesTarget = 4 * 1024 * 1024;

interface SealOptions {
  /** Profile of libs/zk: commits in scheme `fxt-zk/1`, so that jobs on the data set can be proved. Null: plain hashes. */
  readonly provingProfile: string | null;
  /** Commits in scheme `fxt-groth16/1` besides. */
  readonly groth16?: boolean;
  /** Most records that are sealed, taken after the shuffle. */
  readonly recordsMax?: number;
  onSuperblock?(done: number, of: number): void;
}

/**
 * @param m  gives batch, superblock, widths and the shuffle's seed
 * @throws Rejection ORDER_TOO_FEW_RECORDS, RECORDS_COUNT, LABEL_RANGE, STEP_PLAN, GROTH16_SHAPE
 */
export async function sealDataset(
  m: Manifest,
  images: IdxImages,
  labels: Uint8Array,
  options: SealOptions = { provingProfile: null },
): Promise<SealedDataset> {
  const records = makeRecords(images, labels, shuffledIndices(m.seed, images.count));
  const unit = m.batch * m.superblock;
  const used = orderSize(m, Math.min(images.count, options.recordsMax ?? images.count)).superblocks * unit;
  const dataKey = new Uint8Array(randomBytes(32));
  const { root, proving } = await commit(m, records.subarray(0, used * recordBytes(m)), dataKey, options);
  const groth16 =
    options.groth16 === true ? commitPoseidon(m, records.subarray(0, used * recordBytes(m)), dataKey) : null;
  const perShard = recordsPerShard(unit * recordBytes(m)) * unit;
  const id = new Uint8Array(randomBytes(32));
  const nonces = Array.from({ length: Math.ceil(used / perShard) }, () => new Uint8Array(randomBytes(12)));
  const encrypt = (index: number): Promise<Uint8Array> => {
    const plaintext = records.slice(
      index * perShard * recordBytes(m),
      Math.min((index + 1) * perShard, used) * recordBytes(m),
    );
    const dataset = { id, root, shards: { length: nonces.length } };
    return sealShard(shardAssociatedData(dataset, index), plaintext, { key: dataKey, nonce: nonces[index]! });
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
    scheme: proving === null ? 'state-keccak' : 'fxt-zk/1',
    proving,
    ...(groth16 && { groth16 }),
    records: used,
    features: featureCount(m),
    classes: classCount(m),
    batch: m.batch,
    superblock: m.superblock,
    shards,
  };
  return { manifest, dataKey, shard: encrypt };
}

async function commit(
  m: Manifest,
  records: Uint8Array,
  dataKey: Uint8Array,
  { provingProfile, onSuperblock }: SealOptions,
): Promise<Pick<DatasetManifest, 'root' | 'proving'>> {
  if (provingProfile === null) return { root: (await commitDataset('state-keccak', m, records)).root, proving: null };
  const format = commitmentFormat(m, provingProfile);
  const committer = createCommitter(format);
  const { superblocks } = orderSize(m, records.length / recordBytes(m));
  const commitments = Array.from({ length: superblocks }, (_, index) => {
    onSuperblock?.(index, superblocks);
    return committer.data(splitRecords(m, superblockRecords(m, records, index)), dataSeed(dataKey, index));
  });
  const digests = commitments.map((commitment) => dataDigestOf(commitment, format));
  return { root: datasetRoot(digests), proving: { profile: provingProfile, commitments } };
}

function commitPoseidon(
  m: Manifest,
  records: Uint8Array,
  dataKey: Uint8Array,
): NonNullable<DatasetManifest['groth16']> {
  const { shape } = groth16Admission(m);
  const { superblocks } = orderSize(m, records.length / recordBytes(m));
  const commitments = Array.from({ length: superblocks }, (_, index) =>
    commitToData(shape, splitRecords(m, superblockRecords(m, records, index)), dataBlind(dataKey, index)),
  );
  return { root: datasetRoot(commitments.map((root) => groth16DataDigest(shape, root))), commitments };
}

/** Whole units (superblocks) per shard, so that a shard is about the target size and never above the limit. */
function recordsPerShard(unitBytes: number): number {
  const target = Math.min(shardRecordBytesTarget, shardBytesMax - shardTagBytes);
  return Math.max(1, Math.floor(target / unitBytes));
}
