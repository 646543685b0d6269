/**
 * The computing process of a prover node: holds one job and trains it or proves segments of it, one request after the
 * other. It may be killed at any time: what it had finished is with the control plane.
 */
import { CodedError } from '#attestation/base';
import { createPool, KernelBackend, type Engine } from '#libs/zk';
import { openJob, type ComputedJob } from './compute/job.js';
import type { ComputeEvent, ComputeRequest } from './compute/messages.js';
import { prove } from './compute/prove.js';
import { train } from './compute/train.js';

interface Held {
  readonly job: ComputedJob;
  readonly engine: Engine;
  readonly backend: KernelBackend;
}

let held: Held | null = null;
/** Where the node is gone there is nobody to tell: the process ends with the channel. */
const tell = (event: ComputeEvent): void => void process.send!(event, undefined, undefined, () => undefined);

async function answer(request: ComputeRequest): Promise<void> {
  if (request.type === 'open') {
    const job = openJob(request.job, request.limits);
    const { threads, memoryMiB } = request.limits;
    const options = { threads, rowLogMax: job.system.rowLogMax, memoryBytesMax: memoryMiB * 2 ** 20 };
    const engine = await createPool(options);
    held = { job, engine, backend: new KernelBackend(engine) };
    tell({ type: 'opened', segments: Math.ceil(job.manifest.steps / job.spec.segmentSteps) });
    return;
  }
  const { job, engine, backend } = held!;
  if (request.type === 'train') {
    const trained = await train(backend, job, request.checkpoint, (border) => tell({ type: 'border', border }));
    tell({ type: 'trained', trained });
    return;
  }
  const proved = await prove(backend, job, request.request, (phase) => tell({ type: 'phase', phase }));
  tell({ type: 'proved', proved, peakBytes: engine.memory.peakBytes });
}

process.on('message', (request: ComputeRequest) => {
  answer(request).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error;
    tell({ type: 'failed', failure: error.toJSON() });
  });
});
process.on('disconnect', () => process.exit());
