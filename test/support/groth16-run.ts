/** A tiny job that is trained and proved with Groth16 under a development key: integers of libs/step, snarkjs' proofs. */
import { keccak, utf8 } from '#attestation/base';
import { escrowIdOf, jobIdOf, segmentDigest, stepSpecOf, type JobSpec, type Terms } from '#attestation/records';
import { encodeGroth16Bundle, groth16StatementText, type Groth16SegmentData } from '#libs/proof';
import { addressBytes, groth16SealOf, type Deployment, type SettlementClient } from '#libs/settlement';
import { canonicalManifest, datasetRoot, initialWeights, merklePath, superblockOfStep } from '#libs/step';
import { openCircuit, openKey, proveGroth16Segment, type Circuit, type ProvingKey } from '#libs/zk/groth16';
import { blindFrom, commitToData, commitToWeights } from '#libs/zk/groth16/commitment';
import {
  circuitDigest,
  groth16DataDigest,
  groth16PlanDigest,
  groth16WeightsDigest,
  keyDigest,
  type CircuitShape,
} from '#libs/zk/verifier';
import { groth16Examples, groth16Shape, testCache } from '../../libs/zk/src/testing/groth16-segments.js';

const seedOf = (name: string): Uint8Array => keccak(utf8(`groth16 settlement test ${name}`));
const secret = seedOf('prover');
const dataBlind = (superblock: number) => blindFrom(secret, 'data', superblock);
const startBlind = blindFrom(secret, 'start', 0);

export interface Groth16Job {
  readonly shape: CircuitShape;
  readonly circuit: Circuit;
  readonly key: ProvingKey;
  readonly spec: JobSpec;
  readonly plan: Uint8Array;
  readonly records: number;
  /** Of the data, by superblock. */
  readonly digests: readonly Uint8Array[];
  /** Border 0. */
  readonly start: Uint8Array;
}

/** One step to a segment, one superblock of records for every segment. */
export async function groth16Job(deployment: Deployment, segments: number): Promise<Groth16Job> {
  const shape = groth16Shape({ steps: segments });
  const circuit = await openCircuit(testCache, shape);
  const key = await openKey(testCache, circuit);
  const plan = groth16PlanDigest(shape, key.ceremony, key.bytes);
  const { manifest } = shape;
  const records = segments * manifest.superblock * manifest.batch;
  const digests = Array.from({ length: segments }, (_, k) =>
    groth16DataDigest(shape, commitToData(shape, groth16Examples(shape, `block ${k}`), dataBlind(k))),
  );
  const spec: JobSpec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: seedOf('data set'), root: datasetRoot(digests), records, shards: 1 },
    segmentSteps: manifest.superblock,
    scheme: 'fxt-groth16/1',
    proving: { profile: 'groth16', variant: 'joint', planDigest: plan },
    policyDigest: new Uint8Array(32),
    assurance: 'zk',
    recipient: new Uint8Array(32),
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
    salt: seedOf('salt'),
  };
  const start = groth16WeightsDigest(shape, commitToWeights(shape, initialWeights(manifest), startBlind));
  return { shape, circuit, key, spec, plan, records, digests, start };
}

export interface ProvedRun {
  readonly borders: readonly Uint8Array[];
  /** One for every segment. */
  readonly seals: readonly Uint8Array[];
  /** The same proofs as files. */
  readonly bundle: Uint8Array;
  readonly document: string;
}

/** Trains and proves every segment for the escrow of these terms. */
export async function proveGroth16Run(job: Groth16Job, escrow: SettlementClient, terms: Terms): Promise<ProvedRun> {
  const { shape, circuit, key, spec, plan, records, digests } = job;
  const { manifest } = shape;
  const borders = [job.start];
  const roots = [commitToWeights(shape, initialWeights(manifest), startBlind)];
  const seals: Uint8Array[] = [];
  const proofs: Uint8Array[] = [];
  const data: Groth16SegmentData[] = [];
  let before = { weights: initialWeights(manifest), blind: startBlind };
  for (let index = 0; index < digests.length; index++) {
    const superblock = superblockOfStep(manifest, index * manifest.superblock, records);
    const weightsBefore = borders[index]!;
    const made = await proveGroth16Segment(circuit, key, {
      ...{ before, index, dataBlind: dataBlind(superblock), afterBlind: blindFrom(secret, 'after', index) },
      examples: groth16Examples(shape, `block ${superblock}`),
      outerDigest: (root) =>
        segmentDigest(escrow.domain, {
          ...{ job: escrowIdOf(terms), index, weightsBefore },
          weightsAfter: groth16WeightsDigest(shape, root),
        }),
    });
    const dataPath = merklePath(digests, superblock);
    const segment = { index, before: made.before, after: made.after, data: made.data, dataPath };
    seals.push(groth16SealOf(escrow.domain, terms, stepSpecOf(spec), plan, segment, made.proof));
    borders.push(groth16WeightsDigest(shape, made.after));
    roots.push(made.after);
    proofs.push(made.proof);
    data.push({ data: made.data, path: dataPath });
    before = made.opening;
  }
  const document = groth16StatementText({
    ...{
      backend: 'groth16',
      ceremony: key.ceremony,
      jobId: jobIdOf(spec),
      manifest,
      recordCount: records,
      firstStep: 0,
    },
    verificationKey: keyDigest(circuitDigest(shape), key.ceremony, key.bytes),
    ...{ datasetRoot: spec.dataset.root, borders: roots, segments: data },
    escrow: { domain: escrow.domain, job: escrowIdOf(terms) },
  });
  return { borders, seals, bundle: encodeGroth16Bundle(key.bytes, proofs), document };
}
