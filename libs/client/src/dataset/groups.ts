/** How records are cut: superblocks are committed to, shards are encrypted, and a group holds whole ones of both. */
import { shardBytesMax, shardTagBytes } from '#attestation/records';

export interface Shard {
  /** Number in its set. */
  readonly index: number;
  /** Its first record in the group. */
  readonly first: number;
  readonly records: number;
}

/** What is in memory at a time. */
export interface Group {
  readonly index: number;
  /** Its first record in the set. */
  readonly first: number;
  readonly records: number;
  readonly superblocks: number;
  readonly shards: readonly Shard[];
}

const targetBytes = 4 * 1024 * 1024;
const plaintextLimit = shardBytesMax - shardTagBytes;

/**
 * Shards of whole superblocks, about 4 MiB each; a superblock that no shard can hold is cut into several.
 *
 * @param used  records; the last superblock may have fewer than `unit`
 * @param unit  records of a superblock
 */
export function groupsOf(used: number, unit: number, recordBytes: number): readonly Group[] {
  const size = Math.max(1, Math.floor(targetBytes / (unit * recordBytes))) * unit;
  const isOneShard = size * recordBytes <= plaintextLimit;
  const perShard = isOneShard ? size : Math.max(1, Math.floor(targetBytes / recordBytes));
  const groups: Group[] = [];
  let shardsBefore = 0;
  for (let first = 0; first < used; first += size) {
    const records = Math.min(size, used - first);
    const shards = Array.from({ length: Math.ceil(records / perShard) }, (_, i) => ({
      index: shardsBefore + i,
      first: i * perShard,
      records: Math.min(perShard, records - i * perShard),
    }));
    groups.push({ index: groups.length, first, records, superblocks: Math.ceil(records / unit), shards });
    shardsBefore += shards.length;
  }
  return groups;
}
