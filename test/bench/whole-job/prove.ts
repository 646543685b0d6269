/** A job of 784-64-10 on made-up records, proved from its start to its last step in today's largest unit. */
import { keccak, to0x, utf8 } from '#attestation/base';
import {
  dutySelectorOf,
  escrowIdOf,
  JobMode,
  specDigestOf,
  stepSpecOf,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { planOf, segmentOuterDigest } from '#libs/proof';
import { addressBytes, stepSealOf, type Deployment, type StepSeal } from '#libs/settlement';
import {
  canonicalManifest,
  datasetRoot,
  initialWeights,
  merklePath,
  profileManifest,
  superblockOfStep,
  type Examples,
  type Manifest,
} from '#libs/step';
import { commitWeights, createPool, KernelBackend, proveSegment, type SegmentProof, type WeightSecret } from '#libs/zk';
import { createCommitter, dataSeed, proverSecret } from '#libs/zk/commit';
import { dataDigestOf, startSeed, weightsDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';
import { duties, marketTerms } from '#test/escrow-market';
import { madeUp } from '../made-up.js';
import { committedRecords } from '../../../apps/prover-worker/src/proving/records.js';

/** Steps that a proof covers which the contract takes, and under which profile. */
interface Unit {
  readonly steps: number;
  readonly profile: string;
  /** Steps of a segment where a proof covers several. */
  readonly superblock?: number;
}

const units: readonly Unit[] = [
  { steps: 4, profile: 'chain1' },
  { steps: 16, profile: 'chain26' },
  { steps: 64, profile: 'chain64' },
  { steps: 128, profile: 'steps128' },
  { steps: 256, profile: 'chain256' },
];

/** The longest segment is one of 256 steps, verified in two transactions; a longer proof covers several shorter ones. */
const longer: readonly Unit[] = [
  { steps: 1024, profile: 'unit1024', superblock: 256 },
  { steps: 2048, profile: 'unit2048', superblock: 256 },
];

function unitFor(steps: number): Unit {
  const T = 2 ** Math.ceil(Math.log2(steps));
  if (T > 256) return longer.find((unit) => T <= unit.steps) ?? longer.at(-1)!;
  return { steps: T, profile: units.find((unit) => T <= unit.steps)!.profile };
}

/** Of MNIST's training records. */
const recordsMax = 60_000;
const dataKey = keccak(utf8('bench test key'));

export interface BenchJob {
  readonly manifest: Manifest;
  readonly plan: Plan;
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly jobId: Uint8Array;
  readonly examples: Examples;
  readonly data: readonly Commitment[];
}

/** What the client and the data owner do: records, their commitments, spec and terms. */
export function orderJob(steps: number, deployment: Deployment): BenchJob {
  const unit = unitFor(steps);
  const seed = to0x(keccak(utf8('bench start')));
  const shape = { dims: [784, 64, 10], batch: 64, e: 8 };
  const { superblock = unit.steps } = unit;
  const manifest = profileManifest('fx1', { ...shape, steps, seed, superblock });
  const plan = planOf({ manifest, profile: unit.profile, variant: 'joint' });
  const segments = Math.ceil(steps / unit.steps);
  const perBlock = superblock * manifest.batch;
  const blocks = Math.ceil((segments * unit.steps) / superblock);
  const examples = madeUp(manifest, perBlock * Math.min(blocks, Math.floor(recordsMax / perBlock)));
  const committer = createCommitter(plan);
  const data = partStarts(plan, examples).map((step, part) =>
    committer.data(committedRecords(plan, examples, step).records, dataSeed(dataKey, part)),
  );
  const start = committer.weights(initialWeights(manifest), startSeed(manifest));
  const spec: JobSpec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: keccak(utf8('bench data')), root: rootOf(data, plan), records: examples.count, shards: 1 },
    ...{ segmentSteps: unit.steps, scheme: 'fxt-zk/1', assurance: 'zk' },
    proving: { profile: unit.profile, variant: 'joint', planDigest: plan.digest },
    ...{ policyDigest: new Uint8Array(32), recipient: new Uint8Array(32), salt: keccak(utf8('bench salt')) },
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
  };
  const terms = marketTerms({
    ...{ specDigest: specDigestOf(spec), initialWeights: weightsDigestOf(start, plan), segments },
    ...{ mode: JobMode.full, windows: duties, planDigest: plan.digest, dutySelectors: [dutySelectorOf(spec)] },
  });
  return { manifest, plan, spec, terms, jobId: keccak(utf8('bench job')), examples, data };
}

type Segment = Pick<SegmentProof, 'proof' | 'statement'>;

export interface ProvedJob {
  readonly segments: readonly Segment[];
  readonly borders: readonly Uint8Array[];
  readonly seals: readonly StepSeal[];
  /** All WebAssembly memories of the prover together. */
  readonly peakBytes: number;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
}

/** Threads: two. @param domain EIP-712 domain separator of the escrow */
export async function proveJob(job: BenchJob, domain: Uint8Array): Promise<ProvedJob> {
  const { manifest, plan, spec, terms, jobId, examples, data } = job;
  const engine = await createPool({ threads: 2, rowLogMax: plan.profile.m, memoryBytesMax: 4 * 2 ** 30 });
  const backend = new KernelBackend(engine);
  const escrow = { domain, job: escrowIdOf(terms) };
  const root = rootOf(data, plan);
  const digests = data.map((commitment) => dataDigestOf(commitment, plan));
  const segments: Segment[] = [];
  const began = { at: performance.now(), cpu: process.cpuUsage() };
  const weights = initialWeights(manifest);
  const opened = commitWeights(backend, plan, weights, startSeed(manifest));
  const secret: WeightSecret = { weights, seed: startSeed(manifest), opened };
  let start = { secret, commitment: opened.commitment };
  for (let index = 0; index < terms.segments; index++) {
    const from = index * plan.shape.steps;
    const steps = { index, from, count: Math.min(plan.shape.steps, manifest.steps - from) };
    const { part, records } = committedRecords(plan, examples, from);
    const before = weightsDigestOf(start.commitment, plan);
    const made = proveSegment(backend, plan, {
      statement: {
        ...{ manifest, profile: plan.profile.name, variant: plan.variant, index, recordCount: examples.count },
        ...{ datasetRoot: root, data: data[part]!, dataPath: merklePath(digests, part) },
        before: start.commitment,
        outerDigest: (after) =>
          segmentOuterDigest({ jobId, manifest, datasetRoot: root, escrow }, steps, before, after),
      },
      before: start.secret,
      examples: records,
      ...{ dataSeed: dataSeed(dataKey, part), secret: proverSecret({ dataKey, jobId }) },
    });
    start = { secret: made.after, commitment: made.statement.after };
    segments.push({ proof: made.proof, statement: made.statement });
  }
  const cpu = process.cpuUsage(began.cpu);
  const wallSeconds = (performance.now() - began.at) / 1000;
  await engine.close();
  const commitments = [segments[0]!.statement.before, ...segments.map(({ statement }) => statement.after)];
  return {
    ...{ segments, wallSeconds, cpuSeconds: (cpu.user + cpu.system) / 1e6, peakBytes: engine.memory.peakBytes },
    borders: commitments.map((commitment) => weightsDigestOf(commitment, plan)),
    seals: segments.map(({ proof, statement }) =>
      stepSealOf(domain, terms, stepSpecOf(spec), { statement, plan, proof }),
    ),
  };
}

const rootOf = (data: readonly Commitment[], plan: Plan): Uint8Array =>
  datasetRoot(data.map((commitment) => dataDigestOf(commitment, plan)));

/** A step that reads each of the committed parts of the data, by its number. */
function partStarts({ shape }: Plan, examples: Examples): readonly number[] {
  const { manifest, segmentVars } = shape;
  if (segmentVars > 0) return [0];
  const count = examples.count / (manifest.superblock * manifest.batch);
  const starts = new Map<number, number>();
  for (let step = 0; starts.size < count; step += manifest.superblock) {
    starts.set(superblockOfStep(manifest, step, examples.count), step);
  }
  return Array.from({ length: count }, (_, superblock) => starts.get(superblock)!);
}
