/** Proofs of a small net through the doors of libs/zk, for tests that cross folders. */
import { keccak, taggedDigest, utf8 } from '#attestation/base';
import { datasetRoot, initialWeights, merklePath, profileManifest, superblockOfStep, type Examples } from '#libs/step';
import {
  commitData,
  commitWeights,
  createEngine,
  KernelBackend,
  proveAccuracy,
  proveSegment,
  type SegmentProof,
} from '#libs/zk';
import { dataDigestOf, deriveAccuracyPlan, derivePlan, profileNamed } from '#libs/zk/verifier';

type AccuracyProof = ReturnType<typeof proveAccuracy>;

const seed = `0x${'5a'.repeat(32)}`;
const seedOf = (name: string): Uint8Array => keccak(utf8(`small proof ${name}`));

/** Two proofs of one small segment, by two provers, at 100 bits. */
export function smallProofs(): readonly [SegmentProof, SegmentProof] {
  const manifest = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 5, steps: 64, seed });
  const plan = derivePlan(manifest, profileNamed('chain1'), 'joint');
  const backend = new KernelBackend(createEngine({ rowLogMax: plan.profile.m }));
  const examples: Examples[] = [0, 1, 2].map((k) => ({
    count: 2,
    features: Uint8Array.from({ length: 6 }, (_, i) => seedOf('features')[6 * k + i]!),
    labels: Uint8Array.of(k % 2, 1),
  }));
  const data = examples.map((records, k) => commitData(backend, plan, records, seedOf(`data ${k}`)));
  const digests = data.map(({ commitment }) => dataDigestOf(commitment, plan));
  const superblock = superblockOfStep(manifest, 0, 6);
  const before = { weights: initialWeights(manifest), seed: seedOf('weights') };
  const proofs = ['one', 'another'].map((secret) =>
    proveSegment(backend, plan, {
      statement: {
        ...{ manifest, profile: plan.profile.name, variant: plan.variant, index: 0, recordCount: 6 },
        outerDigest: (weightsAfter) => taggedDigest('small proof', weightsAfter),
        datasetRoot: datasetRoot(digests),
        data: data[superblock]!.commitment,
        dataPath: merklePath(digests, superblock),
        before: commitWeights(backend, plan, before.weights, before.seed).commitment,
      },
      before,
      examples: examples[superblock]!,
      dataSeed: seedOf(`data ${superblock}`),
      secret: seedOf(secret),
    }),
  );
  return [proofs[0]!, proofs[1]!];
}

/** Two proofs of how many of five records a small net classes right, by two provers, at 100 bits. */
export function smallAccuracyProofs(): readonly [AccuracyProof, AccuracyProof] {
  const manifest = profileManifest('fx1', { dims: [3, 4, 3], batch: 2, e: 5, steps: 64, seed });
  const records = 5;
  const plan = deriveAccuracyPlan(manifest, profileNamed('chain1'), records);
  const backend = new KernelBackend(createEngine({ rowLogMax: plan.profile.m }));
  const examples = {
    count: records,
    features: Uint8Array.from({ length: 3 * records }, (_, i) => seedOf('set')[i]!),
    labels: Uint8Array.of(0, 1, 2, 1, 0),
  };
  const weights = { weights: initialWeights(manifest), seed: seedOf('weights') };
  const statement = {
    ...{ manifest, profile: plan.profile.name, outerDigest: seedOf('outer'), records },
    weights: commitWeights(backend, plan, weights.weights, weights.seed).commitment,
    data: commitData(backend, plan, examples, seedOf('set')).commitment,
  };
  const prove = (secret: string): AccuracyProof =>
    proveAccuracy(backend, plan, { statement, weights, examples, dataSeed: seedOf('set'), secret: seedOf(secret) });
  return [prove('one'), prove('another')];
}
