/** Jobs in scheme `fxt-zk/1`. */
import { equalBytes } from '#attestation/base';
import { type DatasetManifest } from '#attestation/records';
import { encodeProofBundle, planOfJob, proofStatementText, type ProofStatement } from '#libs/proof';
import { merklePath } from '#libs/step';
import { commitData, commitWeights, createExactTrainer } from '#libs/zk';
import { borderSeed, createCommitter, dataSeed, proverSecret, weightsDigestOf } from '#libs/zk/commit';
import { dataDigestOf } from '#libs/zk/verifier';
import { blockExamples, committedRecords } from '../proving/records.js';
import { proveOne, type ProvenJob } from '../proving/segment-prover.js';
import { keepCommitments } from './kept-commitments.js';
import type { JobFacts, ProofSystem } from './system.js';

/**
 * @param keptBytesMax of commitments to data that stay ready to be opened
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
    committed: (examples, step) => committedRecords(plan, examples, step),
    isCommitted(part, records) {
      const made = committer.data(records, dataSeed(secret.dataKey, part));
      const given = data[part];
      return given !== undefined && equalBytes(made.root, given.root) && equalBytes(made.ood, given.ood);
    },
    trainer(backend, examples, start) {
      const trainer = createExactTrainer(backend, manifest, start);
      return {
        segment(index) {
          for (let t = 0; t < plan.shape.steps; t++) {
            const step = index * plan.shape.steps + t;
            trainer.train(step, blockExamples(manifest, examples, step));
          }
          return trainer.weights();
        },
      };
    },
    prove(backend, examples, index, weights, onPhase) {
      const seed = borderSeed(manifest, secret, index);
      const opened = kept.border(index, weights, () => commitWeights(backend, plan, weights, seed));
      const firstStep = index * plan.shape.steps;
      const { part, records } = committedRecords(plan, examples, firstStep);
      const proven: ProvenJob = {
        ...{ plan, jobId: secret.jobId, escrow, examples, datasetRoot: spec.dataset.root, digests },
        dataCommitment: (index) => data[index]!,
        dataSeed: (index) => dataSeed(secret.dataKey, index),
        openedData: (index) =>
          kept.data(index, () => commitData(backend, plan, records, dataSeed(secret.dataKey, index))),
        afterSeed: borderSeed(manifest, secret, index + 1),
        secret: proverSecret(secret),
      };
      const before = opened.commitment;
      const start = { weights: { weights, seed, opened }, commitment: before };
      const { proof, statement: shown, after } = proveOne(backend, proven, index, start, onPhase);
      if (after.opened) kept.keepBorder({ index: index + 1, weights: after.weights, opened: after.opened });
      const document: ProofStatement = {
        ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId: secret.jobId, manifest },
        ...{ recordCount: examples.count, datasetRoot: spec.dataset.root, firstStep, escrow },
        borders: [before, shown.after],
        segments: [{ data: data[part]!, path: merklePath(digests, part) }],
      };
      const bundle = encodeProofBundle([proof]);
      return Promise.resolve({
        ...{ bundle, document: proofStatementText(document), after: weightsDigestOf(shown.after, plan) },
      });
    },
  };
}
