/** The engine of a job's semantics with the job's records in it. */
import { progressOf } from '#attestation/records';
import { guardSetOf, isNet, type Examples, type NetExamples, type Weights } from '#libs/step';
import { commitmentFormat } from '#libs/zk/commit';
import type { ReadyJob } from '../ready-job.js';
import { Engine, type TrainRequest } from './engine.js';
import { NetEngine } from './net-engine.js';

export interface LoadedEngine {
  /** @throws GuardViolation; Rejection WEIGHTS_*, STEP_OUT_OF_JOB */
  train(request: Omit<TrainRequest, 'dataset'>): Promise<Weights>;
  close(): Promise<void>;
}

type TrainedJob = Pick<ReadyJob, 'manifest' | 'spec' | 'examples' | 'genesis'>;

/** @throws Rejection STEP_RANGE_*, ORDER_TOO_FEW_RECORDS, DATASET_WIDTH */
export async function loadEngine(
  { manifest, spec, examples, genesis }: TrainedJob,
  threads: number,
): Promise<LoadedEngine> {
  if (isNet(manifest)) {
    const engine = await NetEngine.open(manifest, genesis.frozen, { threads, isCounted: progressOf(spec) !== 'none' });
    const dataset = engine.load(examples as NetExamples);
    return { train: (request) => engine.train({ ...request, dataset }), close: () => engine.close() };
  }
  const { scheme, proving } = spec;
  const isInUnits = scheme === 'fxt-zk/1' && proving !== null;
  const ofProof = isInUnits ? commitmentFormat(manifest, proving.profile).shape.steps : undefined;
  const engine = await Engine.open(manifest, { threads, guardSet: guardSetOf(scheme), ofProof });
  const dataset = engine.load(examples as Examples);
  return { train: (request) => engine.train({ ...request, dataset }), close: () => engine.close() };
}
