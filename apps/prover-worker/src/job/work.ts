/** A job without a TEE: trains and proves segment after segment, each written as a ZkSeal when it is done. */
import { randomBytes } from 'node:crypto';
import { equalBytes, Rejection, toHex } from '#attestation';
import { encodeProofBundle, type ProofStatement } from '#libs/proof';
import {
  checkBounds,
  datasetRoot,
  initialWeights,
  merklePath,
  stateDigest,
  superblockOfStep,
  type Examples,
} from '#libs/step';
import { commitWeights, createPool, KernelBackend, type ProverPhase } from '#libs/zk';
import { dataDigestOf, type Plan } from '#libs/zk/verifier';
import { choosePlan } from '../proving/plan-choice.js';
import { slice } from '../proving/records.js';
import { proveOne, type ProvenJob, type SegmentStart } from '../proving/segment-prover.js';
import type { ProverOrder } from './order.js';
import { openProgressStore, type ProgressStore } from './progress-store.js';
import { dataSeedOf } from './secrets.js';

export type WorkEvent =
  | {
      readonly event: 'progress';
      readonly phase: ProverPhase | 'load';
      readonly percent: number;
      readonly etaSeconds: number | null;
    }
  | {
      readonly event: 'segment';
      readonly index: number;
      readonly of: number;
      readonly seal: string;
      readonly statement: string;
      readonly bytes: number;
      readonly seconds: number;
    }
  | {
      readonly event: 'done';
      readonly segments: number;
      readonly resumedAt: number;
      readonly stateDigest: string;
      readonly peakBytes: number;
    };

/** Share of a segment's time at which a phase begins. */
const phaseStarts: Readonly<Record<ProverPhase, number>> = { execute: 0, commit: 0.1, prove: 0.45 };

/**
 * Goes on where an earlier run was ended; what is already proved is not proved again.
 *
 * @throws Rejection ORDER_DATASET, STEP_PLAN, PROGRESS_FOREIGN; GuardViolation GUARD_VIOLATION; ConfigurationError
 *   ZK_MEMORY_EXCEEDED
 */
export async function work(
  order: ProverOrder,
  folder: string,
  load: () => Promise<Examples>,
  tell: (event: WorkEvent) => void,
): Promise<void> {
  const { manifest, jobId } = order;
  checkBounds(manifest);
  const plan = choosePlan(manifest, order.profile, 'joint');
  const store = openProgressStore(folder, manifest);
  const total = Math.ceil(manifest.steps / manifest.superblock);
  tell({ event: 'progress', phase: 'load', percent: 0, etaSeconds: null });
  const job = provenJob(order, plan, slice(manifest, await load(), 0, order.spec.dataset.records));
  const memoryBytesMax = order.memoryMiB * 2 ** 20;
  const engine = await createPool({ threads: order.threads, rowLogMax: plan.profile.m, memoryBytesMax });
  try {
    const backend = new KernelBackend(engine);
    const resumedAt = store.done();
    let start = resumedAt === 0 ? genesisStart(backend, order, plan) : resumedStart(store, resumedAt - 1, job);
    const began = performance.now();
    for (let index = resumedAt; index < total; index++) {
      const segmentBegan = performance.now();
      const proved = proveOne(backend, job, index, start, (phase) => {
        const fraction = index - resumedAt + phaseStarts[phase];
        const perSegment = fraction < 0.4 ? null : (performance.now() - began) / 1000 / fraction;
        const left = total - resumedAt - fraction;
        const etaSeconds = perSegment === null ? null : Math.ceil(perSegment * left);
        tell({ event: 'progress', phase, percent: Math.round((100 * (resumedAt + fraction)) / total), etaSeconds });
      });
      const statement = statementOf(job, index, start, proved.statement.after);
      const seal = encodeProofBundle([proved.proof]);
      store.save(index, seal, statement, proved.after);
      start = { weights: proved.after, commitment: proved.statement.after };
      const files = { seal: store.sealFile(index), statement: store.statementFile(index) };
      const seconds = Math.round(performance.now() - segmentBegan) / 1000;
      tell({ event: 'segment', index, of: total, ...files, bytes: seal.length, seconds });
    }
    const digest = `0x${toHex(stateDigest(manifest, start.weights.weights))}`;
    const peakBytes = engine.memory.peakBytes;
    tell({ event: 'done', segments: total, resumedAt, stateDigest: digest, peakBytes });
  } finally {
    await engine.close();
  }

  function genesisStart(backend: KernelBackend, { weightSeed, genesis }: ProverOrder, ofPlan: Plan): SegmentStart {
    const opened = commitWeights(backend, ofPlan, initialWeights(manifest), weightSeed);
    if (!equalBytes(opened.commitment.root, genesis.root)) {
      throw refused('ORDER_GENESIS', 'the start weights of the seed', 'a commitment to others');
    }
    return { weights: { weights: initialWeights(manifest), seed: weightSeed, opened }, commitment: opened.commitment };
  }

  function resumedStart(from: ProgressStore, index: number, ofJob: ProvenJob): SegmentStart {
    const statement = from.statement(index);
    if (!equalBytes(statement.jobId, jobId) || !equalBytes(statement.datasetRoot, ofJob.datasetRoot)) {
      throw refused('PROGRESS_FOREIGN', `progress of job ${toHex(jobId)}`, toHex(statement.jobId));
    }
    return { weights: from.after(index), commitment: statement.borders[1]! };
  }
}

function provenJob(order: ProverOrder, plan: Plan, examples: Examples): ProvenJob {
  const digests = order.data.map((commitment) => dataDigestOf(commitment, plan));
  const root = datasetRoot(digests);
  if (!equalBytes(root, order.spec.dataset.root)) {
    throw refused('ORDER_DATASET', `the job's data root ${toHex(order.spec.dataset.root)}`, toHex(root));
  }
  return {
    ...{ plan, jobId: order.jobId, escrow: order.escrow, examples, datasetRoot: root, digests },
    dataCommitment: (superblock) => order.data[superblock]!,
    dataSeed: (superblock) => dataSeedOf(order.dataSecret, superblock),
    secret: new Uint8Array(randomBytes(32)),
  };
}

function statementOf(
  { plan, jobId, escrow, examples, datasetRoot: root, digests, dataCommitment }: ProvenJob,
  index: number,
  start: SegmentStart,
  after: ProofStatement['borders'][number],
): ProofStatement {
  const { manifest } = plan.shape;
  const firstStep = index * manifest.superblock;
  const superblock = superblockOfStep(manifest, firstStep, examples.count);
  return {
    ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId, manifest },
    ...{ recordCount: examples.count, datasetRoot: root, firstStep, borders: [start.commitment, after] },
    segments: [{ data: dataCommitment(superblock), path: merklePath(digests, superblock) }],
    ...(escrow && { escrow }),
  };
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'prover worker, orders' });
}
