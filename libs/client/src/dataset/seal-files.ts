/** Seals IDX files into a folder: shards and dataset.json for the control plane, the data key for the key broker alone. */
import { join } from 'node:path';
import { Rejection, toHex } from '#attestation/base';
import { datasetManifestJson, shardAssociatedData, type DatasetManifest } from '#attestation/records';
import { explainPlan, proverMemoryMiB } from '#libs/proof';
import { classCount, featureCount, manifestDigest, orderSize, parseManifest, type Manifest } from '#libs/step';
import { checkRoom, commitmentFormat } from '#libs/zk/commit';
import { readJson, writeWhole } from '../files/files.js';
import { datasetCommitter } from './commit.js';
import { alone } from './alone.js';
import { openJournal } from './journal.js';
import { idxRecords, type IdxRecords } from './records.js';
import { sealSets } from './seal-sets.js';
import type { Watch } from './watch.js';

export interface SealRequest {
  /** fxt/1 manifest, JSON file: gives batch, superblock, widths and the shuffle's seed. */
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  /** Folder of the sealed data set. */
  readonly out: string;
  /** Where the data key goes. */
  readonly key: string;
  /** Commits in the form that step proofs open: for jobs that are proved, sampled, challenged or of high value. */
  readonly provable?: boolean | undefined;
  /** Profile of these proofs; absent: the first whose proofs the contract takes. */
  readonly proofProfile?: string | undefined;
  /** Commits besides in the form that Groth16 opens: for jobs on small models whose proofs a contract checks. */
  readonly groth16?: boolean | undefined;
  readonly recordsMax?: number | undefined;
}

/**
 * Shuffles, blocks, commits and encrypts (libs/step/SPEC.md §9; enclave/SPEC.md, shards). A call that was interrupted is
 * made again: it goes on where it was.
 *
 * @throws Rejection IDX_*, LABEL_RANGE, RECORDS_*, ORDER_TOO_FEW_RECORDS, MANIFEST_*, STEP_PLAN, GROTH16_SHAPE,
 *   SEAL_SOURCE_CHANGED, STEP_STATEMENT of a set that one proof has no room for; ConfigurationError FILE_*, SEAL_BUSY
 */
export async function sealFiles(request: SealRequest, watch: Watch = {}): Promise<DatasetManifest> {
  const m = parseManifest(readJson(request.manifest));
  const source = idxRecords(request.images, request.labels, m.seed, classCount(m));
  try {
    checkWidth(m, source.pixels);
    return await alone(request.out, () => sealRecords(m, source, request, watch));
  } finally {
    source.close();
  }
}

async function sealRecords(
  m: Manifest,
  source: IdxRecords,
  { out, key, provable, proofProfile = 'auto', groth16, recordsMax = Infinity }: SealRequest,
  watch: Watch,
): Promise<DatasetManifest> {
  const superblock = m.batch * m.superblock;
  const used = orderSize(m, Math.min(source.count, recordsMax)).superblocks * superblock;
  const needs = { records: used, memoryBytes: proverMemoryMiB * 2 ** 20 };
  const { profile } = provable === true ? explainPlan(m, proofProfile, 'separate', true, needs).plan : {};
  const provingProfile = profile?.name ?? null;
  if (provingProfile !== null) checkRoom(commitmentFormat(m, provingProfile).shape, used);
  const options = { provingProfile, groth16: groth16 === true };
  const journal = openJournal(out, key, JSON.stringify([toHex(manifestDigest(m)), options, used, source.fingerprint]));
  const committer = datasetCommitter(m, journal.dataKey, options);
  const unit = committer.isWhole ? used : superblock;
  const [sealed] = await sealSets(
    [
      {
        ...{ set: 'training', source, used, unit, commit: committer.commit, rootOf: committer.rootOf },
        associatedData: (id, root, place, length) => shardAssociatedData({ id, root, shards: { length } }, place),
      },
    ],
    journal,
    out,
    watch,
  );
  const { root, commitments, shards } = sealed!;
  const { scheme, proving, groth16: inGroth16 } = committer.publicOf(commitments);
  const manifest: DatasetManifest = {
    ...{ version: 1, id: journal.id, root, scheme, proving },
    ...(inGroth16 && { groth16: inGroth16 }),
    ...{ records: used, features: featureCount(m), classes: classCount(m), batch: m.batch, superblock: m.superblock },
    shards,
  };
  writeWhole(join(out, 'dataset.json'), `${JSON.stringify(datasetManifestJson(manifest), null, 2)}\n`);
  journal.remove();
  return manifest;
}

function checkWidth(m: Manifest, pixels: number): void {
  if (pixels === featureCount(m)) return;
  throw new Rejection('RECORDS_WIDTH', {
    expected: `${featureCount(m)} features per record`,
    got: `${pixels}`,
    rule: 'libs/step/SPEC.md §3',
    action: "use the manifest's own data, or change dims[0]",
  });
}
