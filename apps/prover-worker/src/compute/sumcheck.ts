/** Jobs in scheme `fxt-zk/1`. */
import { equalBytes } from '#attestation/base';
import { type DatasetManifest } from '#attestation/records';
import { encodeProofBundle, planOfJob, proofStatementText, type ProofStatement } from '#libs/proof';
import { merklePath, superblockOfStep } from '#libs/step';
import { commitData, commitWeights, createExactTrainer } from '#libs/zk';
import { borderSeed, createCommitter, dataSeed, proverSecret, weightsDigestOf } from '#libs/zk/commit';
import { dataDigestOf } from '#libs/zk/verifier';
import { blockExamples, superblockExamples } from '../proving/records.js';
import { proveOne, type ProvenJob } from '../proving/segment-prover.js';
import { keepCommitments } from './kept-commitments.js';
import type { JobFacts, ProofSystem } from './system.js';

/**
 * @param keptBytesMax of commitments to superblocks that stay ready to be opened
 * @throws Rejection STEP_PLAN
 */
export function openSumcheck(
  { spec, manifest, secret, escrow }: JobFacts,
  dataset: DatasetManifest,
  keptBytesMax: number,
): ProofSystem {
  const plan = planOfJob(spec, manifest);
  const isProfile = dataset.proving?.profile === spec.proving?.profile;
  const data = isProfile ? (dataset.proving?.commitments ?? []) : [];
  const digests = data.map((commitment) => dataDigestOf(commitment, plan));
  const committer = createCommitter(plan);
  const kept = keepCommitments(keptBytesMax);
  return {
    rowLogMax: plan.profile.m,
    digests,
    isCommitted(superblock, records) {
      const made = committer.data(records, dataSeed(secret.dataKey, superblock));
      const given = data[superblock]!;
      return equalBytes(made.root, given.root) && equalBytes(made.ood, given.ood);
    },
    trainer(backend, examples, start) {
      const trainer = createExactTrainer(backend, manifest, start);
      return {
        segment(index) {
          for (let t = 0; t < manifest.superblock; t++) {
            const step = index * manifest.superblock + t;
            trainer.train(step, blockExamples(manifest, examples, step));
          }
          return trainer.weights();
        },
      };
    },
    prove(backend, examples, index, weights, onPhase) {
      const seed = borderSeed(manifest, secret, index);
      const opened = kept.border(index, weights, () => commitWeights(backend, plan, weights, seed));
      const firstStep = index * manifest.superblock;
      const proven: ProvenJob = {
        ...{ plan, jobId: secret.jobId, escrow, examples, datasetRoot: spec.dataset.root, digests },
        dataCommitment: (superblock) => data[superblock]!,
        dataSeed: (superblock) => dataSeed(secret.dataKey, superblock),
        openedData: (superblock) =>
          kept.data(superblock, () => {
            const records = superblockExamples(manifest, examples, firstStep);
            return commitData(backend, plan, records, dataSeed(secret.dataKey, superblock));
          }),
        afterSeed: borderSeed(manifest, secret, index + 1),
        secret: proverSecret(secret),
      };
      const before = opened.commitment;
      const start = { weights: { weights, seed, opened }, commitment: before };
      const { proof, statement: shown, after } = proveOne(backend, proven, index, start, onPhase);
      if (after.opened) kept.keepBorder({ index: index + 1, weights: after.weights, opened: after.opened });
      const superblock = superblockOfStep(manifest, firstStep, examples.count);
      const document: ProofStatement = {
        ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId: secret.jobId, manifest },
        ...{ recordCount: examples.count, datasetRoot: spec.dataset.root, firstStep, escrow },
        borders: [before, shown.after],
        segments: [{ data: data[superblock]!, path: merklePath(digests, superblock) }],
      };
      const bundle = encodeProofBundle([proof]);
      return Promise.resolve({
        ...{ bundle, document: proofStatementText(document), after: weightsDigestOf(shown.after, plan) },
      });
    },
  };
}
