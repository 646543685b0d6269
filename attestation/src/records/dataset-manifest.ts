/** The public face of a sealed data set: what it commits to, and the digests of its encrypted shards. */
import { concatBytes, fromHex, fromUtf8, uintBe, utf8, to0x } from '../base/bytes.js';
import { exactBytes, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import {
  bytes,
  checkLength,
  list,
  nullable,
  oneOf,
  record,
  text,
  uint,
  type Field,
  type Shaped,
} from '../base/shape.js';

export const datasetManifestBytesMax = 4 * 1024 * 1024;
export const shardBytesMax = 8 * 1024 * 1024;
/** Nonce and tag that AES-256-GCM adds to a shard's records; the nonce stands in the manifest, the tag at the end. */
export const shardTagBytes = 16;
const superblocksMax = 65_536;
export const shardsMax = 65_536;

export const hex =
  (size: number): Field<Uint8Array> =>
  (value, path) =>
    bytes(size)(typeof value === 'string' && /^0x[0-9a-f]*$/.test(value) ? fromHex(value) : value, path);

export const shardField = record({
  records: uint(2 ** 32, 1),
  /** Ciphertext length, tag included. */
  bytes: uint(shardBytesMax, 1),
  nonce: hex(12),
  /** SHA-256 of the ciphertext. */
  sha256: hex(32),
});

const datasetManifestShape = {
  version: oneOf(1),
  id: hex(32),
  /** Commitment to all blocks in order (libs/step/SPEC.md §17.2). */
  root: hex(32),
  scheme: oneOf('state-keccak', 'fxt-zk/1'),
  /** In scheme `fxt-zk/1` alone: the profile of libs/zk, and the commitment to every superblock in order. */
  proving: nullable(
    record({ profile: text(64), commitments: list(record({ root: hex(32), ood: hex(32) }), superblocksMax) }),
  ),
  /**
   * The same superblocks in scheme `fxt-groth16/1` besides, for jobs that are proved in it: their data root, and the
   * commitment to every superblock in order.
   */
  groth16: nullable(record({ root: hex(32), commitments: list(hex(32), superblocksMax) })),
  /** Sealed records: whole blocks of `batch`. */
  records: uint(2 ** 32, 1),
  /** Feature bytes per record; a record is these and one label byte. */
  features: uint(65_536, 1),
  classes: uint(256, 2),
  batch: uint(65_536, 1),
  superblock: uint(65_536, 1),
  shards: list(shardField, shardsMax),
};

type Parsed = Shaped<typeof datasetManifestShape>;
/** Without `groth16` a data set for the other schemes alone. */
export type DatasetManifest = Omit<Parsed, 'groth16'> & { readonly groth16?: NonNullable<Parsed['groth16']> };

/** @throws Rejection MESSAGE_SHAPE, DATASET_MANIFEST */
export function parseDatasetManifest(json: unknown): DatasetManifest {
  const members = mapsOfObjects(json);
  if (members instanceof Map) {
    for (const name of ['proving', 'groth16']) if (!members.has(name)) members.set(name, null);
  }
  const { groth16, ...rest } = record(datasetManifestShape)(members, 'dataset');
  const manifest = { ...rest, ...(groth16 && { groth16 }) };
  checkProving(manifest);
  checkShards(manifest, manifest.batch * manifest.superblock, manifest.features + 1);
  return manifest;
}

/** @param unit records that go together @throws Rejection DATASET_MANIFEST */
export function checkShards(
  { records, shards }: Pick<DatasetManifest, 'records' | 'shards'>,
  unit: number,
  recordBytes: number,
): void {
  const sum = shards.reduce((total, shard) => total + shard.records, 0);
  if (sum !== records) throw inconsistent(`${records} records in the shards`, `${sum}`);
  if (records % unit !== 0) throw inconsistent(`a multiple of ${unit} records`, `${records}`);
  shards.forEach((shard, index) => {
    const expected = shard.records * recordBytes + shardTagBytes;
    if (shard.bytes !== expected) throw inconsistent(`shard ${index} of ${expected} bytes`, `${shard.bytes}`);
  });
}

/** @throws Rejection MESSAGE_SIZE, DATASET_MANIFEST, MESSAGE_SHAPE */
export function readDatasetManifest(file: Uint8Array): DatasetManifest {
  return parseDatasetManifest(readDatasetJson(file));
}

/** @throws Rejection MESSAGE_SIZE, DATASET_MANIFEST */
export function readDatasetJson(file: Uint8Array): unknown {
  checkLength('dataset manifest', file, datasetManifestBytesMax);
  try {
    return JSON.parse(fromUtf8(file));
  } catch {
    throw inconsistent('a JSON document', 'something else');
  }
}

export function datasetManifestJson(manifest: DatasetManifest): Record<string, unknown> {
  const { proving, groth16, ...rest } = manifest;
  const commitments = proving?.commitments.map(({ root, ood }) => ({
    root: to0x(root),
    ood: to0x(ood),
  }));
  return {
    ...rest,
    id: to0x(manifest.id),
    root: to0x(manifest.root),
    ...(proving && { proving: { profile: proving.profile, commitments } }),
    ...(groth16 && {
      groth16: { root: to0x(groth16.root), commitments: groth16.commitments.map((one) => to0x(one)) },
    }),
    shards: shardsJson(manifest),
  };
}

export function shardsJson({ shards }: Pick<DatasetManifest, 'shards'>): Record<string, unknown>[] {
  return shards.map((shard) => ({ ...shard, nonce: to0x(shard.nonce), sha256: to0x(shard.sha256) }));
}

function checkProving({ scheme, proving, groth16, records, batch, superblock }: DatasetManifest): void {
  const all = records / (batch * superblock);
  const superblocks = scheme === 'fxt-zk/1' ? all : null;
  const found = proving === null ? null : proving.commitments.length;
  // Under a profile whose proofs cover several segments one commitment holds the whole set.
  const isWhole = superblocks !== null && found === 1;
  if (found !== superblocks && !isWhole) {
    throw inconsistent(`${superblocks} commitments in scheme ${scheme}, or one`, `${found}`);
  }
  if (groth16 === undefined || groth16.commitments.length === all) return;
  throw inconsistent(`${all} commitments in scheme fxt-groth16/1`, `${groth16.commitments.length}`);
}

/** Associated data of one shard: which data set, which shard, of how many, committed to by which root. */
export function shardAssociatedData(
  dataset: { readonly id: Uint8Array; readonly root: Digest; readonly shards: { readonly length: number } },
  index: number,
): Uint8Array {
  return concatBytes(
    utf8('veritrain/shard/v1'),
    exactBytes('data set id', dataset.id),
    exactBytes('dataset root', dataset.root),
    uintBe(index, 4),
    uintBe(dataset.shards.length, 4),
  );
}

/** @param depth  levels that may still be below: a manifest has an object with a list of objects */
export function mapsOfObjects(json: unknown, depth = 4): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (depth === 0) throw inconsistent('an object with an object with a list of objects', 'deeper nesting');
  if (Array.isArray(json)) return json.map((item) => mapsOfObjects(item, depth - 1));
  return new Map(Object.entries(json).map(([key, value]) => [key, mapsOfObjects(value, depth - 1)]));
}

export function inconsistent(expected: string, got: string): Rejection {
  return new Rejection('DATASET_MANIFEST', {
    expected,
    got,
    rule: 'attestation/SPEC.md, dataset manifest',
    action: 'seal the data set again',
  });
}
