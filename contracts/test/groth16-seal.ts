/** Seals of Groth16 proofs as Groth16StepVerifier takes them, for segments of a small circuit. */
import { fromHex } from '#attestation/base';
import { encodeTerms, escrowIdOf, segmentDigest, stepSpecDigest } from '#attestation/records';
import type { Groth16SealFields } from '#libs/settlement';
import { datasetRoot, manifestDigest, merklePath, superblockOfStep } from '#libs/step';
import { openCircuit, openKey, proveGroth16Segment, type Circuit, type ProvingKey } from '#libs/zk/groth16';
import { commitToData, commitToWeights } from '#libs/zk/groth16/commitment';
import {
  groth16DataDigest,
  groth16PlanDigest,
  groth16Selector,
  groth16WeightsDigest,
  type CircuitShape,
} from '#libs/zk/verifier';
import { groth16Witness, testCache } from '../../libs/zk/src/testing/groth16-segments.js';
import { domain, fill, sealTerms } from './seal-terms.js';

/** Superblocks of the data set; the segments read the test's own records in each. */
const superblocks = 3;

export interface SealedGroth16 {
  readonly circuit: Circuit;
  readonly key: ProvingKey;
  readonly fields: Groth16SealFields;
  /** EIP-712 digest of the Segment. */
  readonly digest: Uint8Array;
}

/** Proves one segment whose outer statement is the Segment of a job on chain. */
export async function sealGroth16(shape: CircuitShape, index: number): Promise<SealedGroth16> {
  const { manifest } = shape;
  const circuit = await openCircuit(testCache, shape);
  const key = await openKey(testCache, circuit);
  const plan = groth16PlanDigest(shape, key.ceremony, key.bytes);
  const witness = groth16Witness(shape, index);
  const data = commitToData(shape, witness.examples, witness.dataBlind);
  const digests = Array.from({ length: superblocks }, () => groth16DataDigest(shape, data));
  const recordCount = superblocks * manifest.superblock * manifest.batch;
  const spec = {
    jobSpec: fill(9),
    manifestDigest: manifestDigest(manifest),
    datasetRoot: datasetRoot(digests),
    seed: fromHex(manifest.seed),
    steps: manifest.steps,
    recordCount,
    schedule: manifest.optimizer.m.map(([from, m]) => from * 256 + m),
  };
  const terms = sealTerms(stepSpecDigest(spec, plan), groth16Selector);
  const segment = (before: Uint8Array, after: Uint8Array): Uint8Array =>
    segmentDigest(domain, {
      job: escrowIdOf(terms),
      index,
      weightsBefore: groth16WeightsDigest(shape, before),
      weightsAfter: groth16WeightsDigest(shape, after),
    });
  const before = commitToWeights(shape, witness.before.weights, witness.before.blind);
  const made = await proveGroth16Segment(circuit, key, { ...witness, outerDigest: (after) => segment(before, after) });
  const superblock = superblockOfStep(manifest, index * manifest.superblock, recordCount);
  const fields: Groth16SealFields = {
    ...{ domain, terms: encodeTerms(terms), index, spec, plan, before, afterwards: made.after, data },
    dataPath: merklePath(digests, superblock),
    proof: Array.from({ length: 8 }, (_, i) => made.proof.subarray(32 * i, 32 * i + 32)),
  };
  return { circuit, key, fields, digest: segment(before, made.after) };
}
