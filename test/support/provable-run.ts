/** A small job that is really trained, committed and proved: integers of libs/step, prover of libs/zk, 100 bits. */
import { keccak, utf8 } from '#attestation/base';
import { escrowIdOf, jobIdOf, segmentDigest, stepSpecOf, type JobSpec, type Terms } from '#attestation/records';
import { encodeProofBundle, proofStatementText } from '#libs/proof';
import { addressBytes, zkSealOf, type Deployment, type SettlementClient } from '#libs/settlement';
import {
  canonicalManifest,
  initialWeights,
  profileManifest,
  type Examples,
  type Manifest,
  type Weights,
  merklePath,
  superblockOfStep,
} from '#libs/step';
import {
  commitWeights,
  createEngine,
  createExactTrainer,
  KernelBackend,
  proveSegment,
  type WeightSecret,
} from '#libs/zk';
import {
  dataDigestOf,
  derivePlan,
  profileNamed,
  startSeed,
  weightsDigestOf,
  type Commitment,
  type Plan,
  type StepProofStatement,
  type Variant,
} from '#libs/zk/verifier';
import { blockExamples, superblockExamples } from '../../apps/prover-worker/src/proving/records.js';
import { dataSeedOf, genesisOf, prepareData, type Genesis, type PreparedData } from './prepare-job.js';

const provingBackend = new KernelBackend(createEngine({ rowLogMax: 13 }));

const seedOf = (name: string): Uint8Array => keccak(utf8(`settlement test ${name}`));
const dataSecret = seedOf('data');
const recordCount = 8;

export interface ProvableJob {
  readonly plan: Plan;
  readonly manifest: Manifest;
  readonly examples: Examples;
  readonly prepared: PreparedData & Genesis;
  /** Of the data, by superblock. */
  readonly digests: readonly Uint8Array[];
  readonly spec: JobSpec;
  readonly jobId: Uint8Array;
}

/** Commitments to data do not depend on how long a job is, nor on who commits to what comes after. */
const known = new Map<string, PreparedData>();
function preparedOnce(plan: Plan, examples: Examples): PreparedData {
  const { name } = plan.profile;
  const prepared = known.get(name) ?? prepareData(provingBackend, plan, examples, dataSecret);
  known.set(name, prepared);
  return prepared;
}

/** One step to a segment. @param planOf  absent: under `chain1` */
export function provableJob(
  deployment: Deployment,
  variant: Variant,
  segments: number,
  planOf = (manifest: Manifest): Plan => derivePlan(manifest, profileNamed('chain1'), variant),
): ProvableJob {
  const manifest = profileManifest('fx1', {
    ...{ dims: [6, 5, 3], batch: 4, e: 5, steps: segments },
    seed: `0x${'5a'.repeat(32)}`,
  });
  const plan = planOf(manifest);
  const examples: Examples = {
    count: recordCount,
    features: Uint8Array.from({ length: recordCount * 6 }, (_, i) => (i * 73 + (i >> 3)) & 255),
    labels: Uint8Array.from({ length: recordCount }, (_, i) => i % 3),
  };
  const prepared = { ...preparedOnce(plan, examples), ...genesisOf(provingBackend, plan) };
  const spec: JobSpec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: seedOf('data set'), root: prepared.root, records: recordCount, shards: 1 },
    segmentSteps: 1,
    scheme: 'fxt-zk/1',
    proving: { profile: plan.profile.name, variant, planDigest: plan.digest },
    policyDigest: new Uint8Array(32),
    assurance: 'zk',
    recipient: new Uint8Array(32),
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
    salt: seedOf('salt'),
  };
  const digests = prepared.data.map((commitment) => dataDigestOf(commitment, plan));
  return { plan, manifest, examples, prepared, digests, spec, jobId: jobIdOf(spec) };
}

/** Weights at every border, and what was committed to there. */
export interface TrainedRun {
  readonly secrets: readonly WeightSecret[];
  readonly commitments: readonly Commitment[];
  readonly borders: readonly Uint8Array[];
}

function stepOnce({ manifest, examples }: ProvableJob, index: number, start: Weights): Weights {
  const mark = provingBackend.mark();
  try {
    const trainer = createExactTrainer(provingBackend, manifest, start);
    trainer.train(index, blockExamples(manifest, examples, index));
    return trainer.weights();
  } finally {
    provingBackend.release(mark);
  }
}

/**
 * Commits to the weights of every border by themselves, as whoever does not prove does.
 * @param skipped  segments that are not trained: their border repeats the weights before
 */
export function trainRun(job: ProvableJob, skipped: readonly number[] = []): TrainedRun {
  const { plan, manifest } = job;
  const secrets: WeightSecret[] = [{ weights: initialWeights(manifest), seed: startSeed(manifest) }];
  for (let i = 0; i < manifest.steps; i++) {
    const { weights } = secrets[i]!;
    secrets.push({
      weights: skipped.includes(i) ? weights : stepOnce(job, i, weights),
      seed: seedOf(`border ${i + 1}`),
    });
  }
  const commitments = secrets.map(({ weights, seed }) => {
    const mark = provingBackend.mark();
    const { commitment } = commitWeights(provingBackend, plan, weights, seed);
    provingBackend.release(mark);
    return commitment;
  });
  return { secrets, commitments, borders: commitments.map((commitment) => weightsDigestOf(commitment, plan)) };
}

/** What a challenger with the weights of all borders does: runs each segment again. @returns those that are false */
export function falseSegments(job: ProvableJob, { secrets }: TrainedRun): number[] {
  const text = (weights: Weights): string => weights.map(({ values }) => values.join()).join();
  return Array.from({ length: job.manifest.steps }, (_, i) => i).filter(
    (i) => text(stepOnce(job, i, secrets[i]!.weights)) !== text(secrets[i + 1]!.weights),
  );
}

interface SealedSegment {
  /** For a verifier that takes the proof whole. */
  readonly seal: Uint8Array;
  readonly proof: Uint8Array;
  readonly statement: StepProofStatement;
  /** Border after the segment that the proof speaks of. */
  readonly border: Uint8Array;
  readonly after: WeightSecret;
  readonly commitment: Commitment;
}

/**
 * Proves the true transition from a border, for the escrow of these terms.
 * @param afterSeed  separate variant: of the commitment after the segment
 */
function sealSegment(
  job: ProvableJob,
  escrow: SettlementClient,
  terms: Terms,
  index: number,
  start: { readonly secret: WeightSecret; readonly commitment: Commitment },
  afterSeed?: Uint8Array,
): SealedSegment {
  const { plan, manifest, examples, prepared, digests } = job;
  const superblock = superblockOfStep(manifest, index, recordCount);
  const weightsBefore = weightsDigestOf(start.commitment, plan);
  const { proof, statement, after } = proveSegment(provingBackend, plan, {
    statement: {
      ...{
        manifest,
        profile: plan.profile.name,
        variant: plan.variant,
        index,
        recordCount,
        datasetRoot: prepared.root,
      },
      ...{ data: prepared.data[superblock]!, dataPath: merklePath(digests, superblock), before: start.commitment },
      outerDigest: (weightsAfter) =>
        segmentDigest(escrow.domain, { job: escrowIdOf(terms), index, weightsBefore, weightsAfter }),
    },
    before: start.secret,
    examples: superblockExamples(manifest, examples, index),
    dataSeed: dataSeedOf(dataSecret, superblock),
    secret: seedOf('prover'),
    ...(afterSeed && { afterSeed }),
  });
  return {
    seal: zkSealOf(escrow.domain, terms, stepSpecOf(job.spec), { statement, plan, proof }),
    ...{ proof, statement, border: weightsDigestOf(statement.after, plan) },
    after,
    commitment: statement.after,
  };
}

/** The proof of one segment of a run that was committed before. */
export function sealTrained(
  job: ProvableJob,
  escrow: SettlementClient,
  terms: Terms,
  run: TrainedRun,
  index: number,
): SealedSegment {
  const start = { secret: run.secrets[index]!, commitment: run.commitments[index]! };
  return sealSegment(job, escrow, terms, index, start, run.secrets[index + 1]!.seed);
}

/** The same as files, as a prover keeps them. */
export function proofFilesOf(
  job: ProvableJob,
  escrow: SettlementClient,
  terms: Terms,
  run: TrainedRun,
  index: number,
): { readonly bundle: Uint8Array; readonly document: string } {
  const { proof, statement } = sealTrained(job, escrow, terms, run, index);
  const { before, after, data, dataPath, datasetRoot } = statement;
  const document = proofStatementText({
    ...{ backend: 'sumcheck', profile: job.plan.profile.name, variant: job.plan.variant, jobId: job.jobId },
    ...{ manifest: job.manifest, recordCount, datasetRoot, firstStep: index },
    escrow: { domain: escrow.domain, job: escrowIdOf(terms) },
    ...{ borders: [before, after], segments: [{ data, path: dataPath }] },
  });
  return { bundle: encodeProofBundle([proof]), document };
}

/** Proves segment after segment, each from the commitment that the one before ended with. */
export function sealChain(job: ProvableJob, escrow: SettlementClient, terms: Terms): SealedSegment[] {
  let start: { secret: WeightSecret; commitment: Commitment } = {
    secret: { weights: initialWeights(job.manifest), seed: startSeed(job.manifest) },
    commitment: job.prepared.genesis,
  };
  return Array.from({ length: job.manifest.steps }, (_, index) => {
    const sealed = sealSegment(job, escrow, terms, index, start);
    start = { secret: sealed.after, commitment: sealed.commitment };
    return sealed;
  });
}
