/** Jobs in scheme `fxt-groth16/1`, under a key that this node keeps. */
import { equalBytes } from '#attestation/base';
import { type DatasetManifest } from '#attestation/records';
import {
  encodeGroth16Bundle,
  groth16Admission,
  groth16StatementText,
  segmentOuterDigest,
  verifyGroth16Bundle,
  type Groth16Statement,
} from '#libs/proof';
import { merklePath, segmentReference, superblockOfStep } from '#libs/step';
import { borderSeed } from '#libs/zk/commit';
import { proveGroth16Segment, type ToolLimits } from '#libs/zk/groth16';
import { borderBlind, commitToData, commitToWeights, dataBlind } from '#libs/zk/groth16/commitment';
import { circuitDigest, groth16DataDigest, groth16WeightsDigest, keyDigest } from '#libs/zk/verifier';
import { openKeyFolder } from '../proving/key-folder.js';
import { superblockExamples } from '../proving/records.js';
import type { JobFacts, ProofSystem } from './system.js';

/** Of the kernels, which such a job does not use. */
const rowLogMax = 10;

/**
 * @param keys folder of keys; undefined: this node has none
 * @throws Rejection GROTH16_SHAPE, GROTH16_KEY; ConfigurationError GROTH16_KEY_MISSING
 */
export function openGroth16(
  { spec, manifest, secret, escrow }: JobFacts,
  dataset: DatasetManifest,
  keys: string | undefined,
  limits: ToolLimits,
): ProofSystem {
  const { shape } = groth16Admission(manifest);
  const key = openKeyFolder(keys, spec.proving!.planDigest, shape);
  const data = dataset.groth16?.commitments ?? [];
  const digests = data.map((root) => groth16DataDigest(shape, root));
  const datasetRoot = spec.dataset.root;
  const blindOf = (index: number) => borderBlind(borderSeed(manifest, secret, index));
  return {
    rowLogMax,
    digests,
    committed: (examples, step) => ({
      part: superblockOfStep(manifest, step, examples.count),
      records: superblockExamples(manifest, examples, step),
    }),
    isCommitted: (superblock, records) =>
      equalBytes(commitToData(shape, records, dataBlind(secret.dataKey, superblock)), data[superblock]!),
    trainer(_backend, examples, start) {
      let weights = start;
      return {
        segment(index) {
          const records = superblockExamples(manifest, examples, index * manifest.superblock);
          weights = segmentReference(manifest, weights, records, index);
          return weights;
        },
      };
    },
    async prove(_backend, examples, index, weights, onPhase) {
      const firstStep = index * manifest.superblock;
      const superblock = superblockOfStep(manifest, firstStep, examples.count);
      const steps = { index, from: firstStep, count: Math.min(manifest.superblock, manifest.steps - firstStep) };
      const before = groth16WeightsDigest(shape, commitToWeights(shape, weights, blindOf(index)));
      const job = { jobId: secret.jobId, manifest, datasetRoot, escrow };
      onPhase('prove');
      const made = await proveGroth16Segment(
        key.circuit,
        key,
        {
          ...{ before: { weights, blind: blindOf(index) }, afterBlind: blindOf(index + 1), index },
          examples: superblockExamples(manifest, examples, firstStep),
          dataBlind: dataBlind(secret.dataKey, superblock),
          outerDigest: (after) => segmentOuterDigest(job, steps, before, groth16WeightsDigest(shape, after)),
        },
        limits,
      );
      const statement: Groth16Statement = {
        ...{ backend: 'groth16', ceremony: key.ceremony, ...job, recordCount: examples.count, firstStep },
        verificationKey: keyDigest(circuitDigest(shape), key.ceremony, key.bytes),
        borders: [made.before, made.after],
        segments: [{ data: made.data, path: merklePath(digests, superblock) }],
      };
      const bundle = encodeGroth16Bundle(key.bytes, [made.proof]);
      // A proving key that is not the verification key's makes proofs that nobody takes.
      verifyGroth16Bundle(bundle, statement, { takesDevelopmentKeys: true });
      return { bundle, document: groth16StatementText(statement), after: groth16WeightsDigest(shape, made.after) };
    },
  };
}
