/**
 * Commits to the records of one set or two and encrypts them, a group at a time. It reads them twice, as every shard is
 * bound to the root of all; what is done stands in the journal, so a sealing that was interrupted goes on there. A nonce
 * is drawn when a shard is encrypted and used for nothing else.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { equalBytes, Rejection } from '#attestation/base';
import { datasetManifestBytesMax, shardBytesMax, type DatasetManifest, type ShardSet } from '#attestation/records';
import { sealShard } from '#libs/sealing';
import { readBytes, writeWhole } from '../files/files.js';
import { shardPath } from './files.js';
import { groupsOf, type Group, type Shard } from './groups.js';
import type { Commitments, EncryptedShard, Journal } from './journal.js';
import type { RecordSource } from './records.js';
import type { Progress, Watch } from './watch.js';

interface SetToSeal {
  readonly set: ShardSet;
  readonly source: RecordSource;
  /** Records that are sealed, the first of the source. */
  readonly used: number;
  /** Records of a superblock. */
  readonly unit: number;
  commit(superblock: number, records: Uint8Array): Promise<readonly Uint8Array[]>;
  /** @param commitments  of all superblocks */
  rootOf(commitments: Commitments): Uint8Array;
  /** @param place  number of a shard in the set, of `count` */
  associatedData(id: Uint8Array, root: Uint8Array, place: number, count: number): Uint8Array;
}

interface SealedSet {
  readonly root: Uint8Array;
  readonly commitments: Commitments;
  readonly shards: DatasetManifest['shards'];
}

/** What one shard takes in the manifest, at least. */
const shardJsonBytes = 180;

/**
 * @param folder  gets the shards, those of the first set first
 * @throws Rejection SEAL_SOURCE_CHANGED, MESSAGE_SIZE, and what `commit` refuses
 */
export async function sealSets(
  sets: readonly SetToSeal[],
  journal: Journal,
  folder: string,
  watch: Watch,
): Promise<readonly SealedSet[]> {
  const cut = sets.map(({ used, unit, source }) => groupsOf(used, unit, source.recordBytes));
  requireFew(cut.flat().reduce((sum, { shards }) => sum + shards.length, 0));
  const of = sets.reduce((sum, { used, source }) => sum + used * source.recordBytes, 0);
  const told = (stage: Progress['stage']): ((bytes: number) => void) => {
    let done = 0;
    return (bytes) => watch.onProgress?.({ stage, done: (done += bytes), of, unit: 'bytes' });
  };
  const committing = told('commit');
  const commitments: Commitments[] = [];
  for (const [i, set] of sets.entries()) commitments.push(await commitSet(set, cut[i]!, journal, watch, committing));
  const sealing = told('seal');
  const sealed: SealedSet[] = [];
  let before = 0;
  for (const [i, set] of sets.entries()) {
    const root = set.rootOf(commitments[i]!);
    const pathOf = (place: number): string => shardPath(folder, before + place);
    const shards = await encryptSet({ set, root, groups: cut[i]!, journal, pathOf }, watch, sealing);
    sealed.push({ root, commitments: commitments[i]!, shards });
    before += shards.length;
  }
  return sealed;
}

async function commitSet(
  { set, source, unit, commit }: SetToSeal,
  groups: readonly Group[],
  journal: Journal,
  { signal }: Watch,
  told: (bytes: number) => void,
): Promise<Commitments> {
  const { recordBytes } = source;
  const all: (readonly Uint8Array[])[] = [];
  for (const { index, first, records, superblocks, shards } of groups) {
    signal?.throwIfAborted();
    const known = journal.committed(set, index);
    if (known !== undefined) all.push(...known.commitments());
    else {
      const bytes = await source.read(first, records);
      const commitments: (readonly Uint8Array[])[] = [];
      for (let i = 0; i < superblocks; i++) {
        const block = bytes.subarray(i * unit * recordBytes, (i + 1) * unit * recordBytes);
        commitments.push(await commit(first / unit + i, block));
      }
      const macs = shards.map((shard) => journal.macOf(recordsOf(shard, bytes, recordBytes)));
      journal.commit(set, index, macs, commitments);
      all.push(...commitments);
    }
    told(records * recordBytes);
  }
  return all;
}

interface Encryption {
  readonly set: SetToSeal;
  readonly root: Uint8Array;
  readonly groups: readonly Group[];
  readonly journal: Journal;
  pathOf(place: number): string;
}

async function encryptSet(
  { set: { set, source, associatedData }, root, groups, journal, pathOf }: Encryption,
  { signal }: Watch,
  told: (bytes: number) => void,
): Promise<DatasetManifest['shards']> {
  const { recordBytes } = source;
  const count = groups.reduce((sum, { shards }) => sum + shards.length, 0);
  const made: DatasetManifest['shards'][number][] = [];
  for (const { index, first, records, shards } of groups) {
    let bytes: Uint8Array | null = null;
    for (const [i, shard] of shards.entries()) {
      signal?.throwIfAborted();
      const kept = keptShard(journal.sealed(set, shard.index), pathOf(shard.index));
      if (kept !== null) made.push({ records: shard.records, ...kept });
      else {
        bytes ??= await source.read(first, records);
        const plaintext = recordsOf(shard, bytes, recordBytes);
        if (!equalBytes(journal.macOf(plaintext), journal.committed(set, index)!.macs[i]!)) throw changed();
        const nonce = new Uint8Array(randomBytes(12));
        const bound = associatedData(journal.id, root, shard.index, count);
        const ciphertext = await sealShard(bound, plaintext, { key: journal.dataKey, nonce });
        writeWhole(pathOf(shard.index), ciphertext);
        const sha256 = sha256Of(ciphertext);
        journal.seal(set, shard.index, { nonce, sha256 });
        made.push({ records: shard.records, bytes: ciphertext.length, nonce, sha256 });
      }
      told(shard.records * recordBytes);
    }
  }
  return made;
}

/** Null unless the file is the shard that the journal tells of. */
function keptShard(told: EncryptedShard | undefined, path: string): (EncryptedShard & { bytes: number }) | null {
  if (told === undefined || !existsSync(path)) return null;
  const ciphertext = readBytes(path, shardBytesMax);
  return equalBytes(sha256Of(ciphertext), told.sha256) ? { ...told, bytes: ciphertext.length } : null;
}

function recordsOf({ first, records }: Shard, bytes: Uint8Array, recordBytes: number): Uint8Array {
  return bytes.subarray(first * recordBytes, (first + records) * recordBytes);
}

function sha256Of(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}

/** Before hours of work: a manifest that nobody would read. */
function requireFew(shards: number): void {
  const max = Math.floor(datasetManifestBytesMax / shardJsonBytes);
  if (shards <= max) return;
  throw new Rejection('MESSAGE_SIZE', {
    expected: `at most ${max} shards`,
    got: `${shards}`,
    rule: 'attestation/SPEC.md, limits',
    action: 'seal fewer records, or the data in several data sets',
  });
}

function changed(): Rejection {
  return new Rejection('SEAL_SOURCE_CHANGED', {
    expected: 'the records that were committed to',
    got: 'other records at the second reading',
    rule: 'enclave/SPEC.md, shards',
    action: 'leave the source alone while it is sealed; remove the file .sealing of the folder and seal again',
  });
}
