/**
 * The public face of a sealed data set of record layout 2, version 2 of the dataset manifest: a training set and perhaps
 * a validation set under one data key. Shards count through: those of the training set first.
 */
import { concatBytes, to0x, uintBe, utf8 } from '../base/bytes.js';
import { list, nullable, oneOf, record, uint, type Shaped } from '../base/shape.js';
import {
  checkShards,
  datasetManifestJson,
  hex,
  inconsistent,
  mapsOfObjects,
  parseDatasetManifest,
  readDatasetJson,
  shardAssociatedData,
  shardField,
  shardsJson,
  shardsMax,
  type DatasetManifest,
} from './dataset-manifest.js';

/** Objects and lists within each other in a data header: columns have lists of values. */
const headerDepthMax = 8;

const setShape = {
  /** Binds header and blocks. */
  root: hex(32),
  /** Of the training set whole superblocks of `batch` records; the last block of a validation set may have fewer. */
  records: uint(2 ** 32, 1),
  batch: uint(65_536, 1),
  shards: list(shardField, shardsMax),
};

const netDatasetShape = {
  version: oneOf(2),
  id: hex(32),
  ...setShape,
  /** Features and label. */
  recordBytes: uint(2 ** 23, 1),
  superblock: uint(65_536, 1),
  validation: nullable(record(setShape)),
};

type RecordSet = Shaped<typeof setShape>;

/** `header`: `parseDataHeader` of libs/step decides what it means. */
export type NetDatasetManifest = Shaped<typeof netDatasetShape> & { readonly header: object };

export type SealedDataset = DatasetManifest | NetDatasetManifest;

export function isNetDataset(dataset: SealedDataset): dataset is NetDatasetManifest {
  return dataset.version === 2;
}

/** @throws Rejection MESSAGE_SHAPE, DATASET_MANIFEST */
export function parseSealedDataset(json: unknown): SealedDataset {
  if (typeof json !== 'object' || json === null || (json as { version?: unknown }).version !== 2) {
    return parseDatasetManifest(json);
  }
  const { header, ...rest } = json as Record<string, unknown>;
  const manifest = { ...record(netDatasetShape)(mapsOfObjects(rest), 'dataset'), header: checkedHeader(header) };
  const { batch, superblock, recordBytes, validation } = manifest;
  checkShards(manifest, batch * superblock, recordBytes);
  if (validation !== null) checkShards(validation, 1, recordBytes);
  return manifest;
}

/** @throws Rejection MESSAGE_SIZE, DATASET_MANIFEST, MESSAGE_SHAPE */
export function readSealedDataset(file: Uint8Array): SealedDataset {
  return parseSealedDataset(readDatasetJson(file));
}

export function sealedDatasetJson(dataset: SealedDataset): Record<string, unknown> {
  if (!isNetDataset(dataset)) return datasetManifestJson(dataset);
  const { validation } = dataset;
  const ofSet = (set: RecordSet) => ({ ...set, root: to0x(set.root), shards: shardsJson(set) });
  return { ...ofSet(dataset), id: to0x(dataset.id), validation: validation && ofSet(validation) };
}

/** Both sets of version 2. */
export function shardCount(dataset: SealedDataset): number {
  return dataset.shards.length + (isNetDataset(dataset) ? (dataset.validation?.shards.length ?? 0) : 0);
}

export type ShardSet = 'training' | 'validation';

type Shard = RecordSet['shards'][number];

/** A shard, and what its encryption binds it to. */
interface PlacedShard extends Shard {
  readonly set: ShardSet;
  readonly associatedData: Uint8Array;
}

/** @returns undefined where there is no such shard */
export function shardAt(dataset: SealedDataset, index: number): PlacedShard | undefined {
  const { id, shards } = dataset;
  if (!isNetDataset(dataset)) {
    const shard = shards[index];
    return shard && { ...shard, set: 'training', associatedData: shardAssociatedData(dataset, index) };
  }
  const isTraining = index < shards.length;
  const set = isTraining ? dataset : dataset.validation;
  const place = isTraining ? index : index - shards.length;
  const shard = set?.shards[place];
  if (!set || !shard) return undefined;
  const name = isTraining ? 'training' : 'validation';
  const associatedData = netShardAssociatedData({ id, root: set.root, set: name, count: set.shards.length }, place);
  return { ...shard, set: name, associatedData };
}

interface SealedSet {
  readonly id: Uint8Array;
  /** Of the set. */
  readonly root: Uint8Array;
  readonly set: ShardSet;
  /** Shards of the set. */
  readonly count: number;
}

/** Of shard `place` of one of the two sets of version 2. */
export function netShardAssociatedData({ id, root, set, count }: SealedSet, place: number): Uint8Array {
  const ofSet = uintBe(set === 'validation' ? 1 : 0, 1);
  return concatBytes(utf8('veritrain/shard/v2'), id, root, ofSet, uintBe(place, 4), uintBe(count, 4));
}

/** @throws Rejection DATASET_MANIFEST unless it is an object that whoever writes it out can walk through */
function checkedHeader(header: unknown): object {
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw inconsistent('a data header', 'something else');
  }
  for (let [depth, level] = [0, [header] as object[]]; level.length > 0; depth++) {
    if (depth > headerDepthMax) throw inconsistent(`a data header nested ${headerDepthMax} deep`, 'deeper nesting');
    level = level.flatMap((item) => Object.values(item).filter((value) => typeof value === 'object' && value !== null));
  }
  return header;
}
