/** Commitments to a data set of layout 1: by plain hashes or for sumcheck proofs, and besides for Groth16. */
import { Rejection } from '#attestation/base';
import type { DatasetManifest } from '#attestation/records';
import { groth16Admission } from '#libs/proof';
import { dataDigest, datasetRoot, splitRecords, type Manifest } from '#libs/step';
import { commitmentFormat, createCommitter, dataDigestOf, dataSeed, isWholeSet } from '#libs/zk/commit';
import { commitToData, dataBlind } from '#libs/zk/groth16/commitment';
import { groth16DataDigest } from '#libs/zk/verifier';
import type { Commitments } from './journal.js';

interface CommitOptions {
  /** Profile of libs/zk: commits in scheme `fxt-zk/1`, so that jobs on the data set can be proved. Null: plain hashes. */
  readonly provingProfile: string | null;
  /** Commits in scheme `fxt-groth16/1` besides. */
  readonly groth16: boolean;
}

interface DatasetCommitter {
  /** One commitment holds all records: `commit` gets them at once. */
  readonly isWhole: boolean;
  /** @returns digest, or root and out-of-domain word; with Groth16 its root behind them */
  commit(superblock: number, records: Uint8Array): Promise<readonly Uint8Array[]>;
  rootOf(commitments: Commitments): Uint8Array;
  /** What the manifest says of them. */
  publicOf(commitments: Commitments): Pick<DatasetManifest, 'scheme' | 'proving' | 'groth16'>;
}

/** @throws Rejection STEP_PLAN, GROTH16_SHAPE */
export function datasetCommitter(
  m: Manifest,
  dataKey: Uint8Array,
  { provingProfile, groth16 }: CommitOptions,
): DatasetCommitter {
  const main = provingProfile === null ? plain : proved(m, dataKey, provingProfile);
  const poseidon = groth16 ? inGroth16(m, dataKey) : null;
  if (groth16 && main.isWhole) {
    throw new Rejection('GROTH16_SHAPE', {
      expected: 'a profile that commits to each superblock, as Groth16 does',
      got: `${provingProfile}, which commits to the whole set`,
      rule: 'libs/zk/SPEC.md §20',
      action: 'name another --proof-profile, or leave --groth16 out',
    });
  }
  return {
    isWhole: main.isWhole,
    async commit(superblock, records) {
      const own = await main.commit(superblock, records);
      return poseidon === null ? own : [...own, poseidon.commit(superblock, records)];
    },
    rootOf: (commitments) => main.rootOf(commitments),
    publicOf: (commitments) => ({
      ...main.publicOf(commitments),
      ...(poseidon && { groth16: poseidon.publicOf(commitments.map((one) => one.at(-1)!)) }),
    }),
  };
}

const plain: DatasetCommitter = {
  isWhole: false,
  commit: async (superblock, records) => [await dataDigest('state-keccak', superblock, records)],
  rootOf: (commitments) => datasetRoot(commitments.map(([digest]) => digest!)),
  publicOf: () => ({ scheme: 'state-keccak', proving: null }),
};

function proved(m: Manifest, dataKey: Uint8Array, profile: string): DatasetCommitter {
  const format = commitmentFormat(m, profile);
  const committer = createCommitter(format);
  const opened = ([root, ood]: readonly Uint8Array[]) => ({ root: root!, ood: ood! });
  return {
    isWhole: isWholeSet(format),
    commit(superblock, records) {
      const { root, ood } = committer.data(splitRecords(m, records), dataSeed(dataKey, superblock));
      return Promise.resolve([root, ood]);
    },
    rootOf: (commitments) => datasetRoot(commitments.map((one) => dataDigestOf(opened(one), format))),
    publicOf: (commitments) => ({ scheme: 'fxt-zk/1', proving: { profile, commitments: commitments.map(opened) } }),
  };
}

function inGroth16(m: Manifest, dataKey: Uint8Array) {
  const { shape } = groth16Admission(m);
  return {
    commit: (superblock: number, records: Uint8Array): Uint8Array =>
      commitToData(shape, splitRecords(m, records), dataBlind(dataKey, superblock)),
    publicOf: (commitments: readonly Uint8Array[]) => ({
      root: datasetRoot(commitments.map((root) => groth16DataDigest(shape, root))),
      commitments,
    }),
  };
}
