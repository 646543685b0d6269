/** A proof of a segment from plain IDX files, start weights from the seed: the work of prove-main.ts without its process. */
import { randomBytes } from 'node:crypto';
import { concatBytes, equalBytes, keccak, to0x, word } from '#attestation/base';
import { chooseBackend, explainPlan, proofStatementText, verifyProofBundle } from '#libs/proof';
import {
  checkBounds,
  initialWeights,
  parseManifest,
  stateDigest,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import { createExactTrainer, type KernelBackend } from '#libs/zk';
import { startSeed } from '#libs/zk/verifier';
import { loadExamples } from './files.js';
import { proveFilesGroth16 } from './prove-groth16.js';
import { proveRange } from './prove-range.js';
import { withProver } from './prover.js';
import { blockExamples, checkRange } from './records.js';
import type { Progress, ProvedFiles, ProvedSegments } from './report.js';
import type { ProveRequest } from './request.js';
import { startWeights } from './start-weights.js';

/** @throws Rejection, ConfigurationError; BACKEND_UNAVAILABLE where the packages of a backend are not installed */
export async function proveFiles(
  request: ProveRequest,
  onProgress: (progress: Progress) => void,
): Promise<ProvedFiles> {
  const manifest = parseManifest(request.manifest);
  checkBounds(manifest, 'proved');
  checkRange(manifest, request.from, request.steps);
  const { backend, profile, onChain, key } = request;
  const ceremony = key.zkey === undefined ? 'development' : 'external';
  const choice = chooseBackend(manifest, { backend, profile, onChain, ceremony });
  onProgress({ phase: 'load', percent: 0 });
  const examples = await loadExamples(manifest, request);
  const prove = choice.backend === 'groth16' ? proveFilesGroth16 : proveFilesSumcheck;
  const proved = await prove(manifest, examples, request, onProgress);
  return { ...proved, report: { ...proved.report, choice } };
}

async function proveFilesSumcheck(
  manifest: Manifest,
  examples: Examples,
  request: ProveRequest,
  onProgress: (progress: Progress) => void,
): Promise<ProvedSegments> {
  const { from, steps } = request;
  const { plan } = explainPlan(manifest, request.profile, 'joint', request.onChain);
  return withProver(plan, request, onProgress, async ({ backend, enter, prove }) => {
    enter('start weights');
    const weights = await startWeights(manifest, request, () =>
      trainedWeights(backend, manifest, examples, from, onProgress),
    );
    const seeds = { data: randomBytes(32), secret: randomBytes(32) };
    const job = {
      ...{ plan, examples, from, steps, weights, jobId: new Uint8Array(32) },
      weightSeed: weightSeedOf(manifest, from, weights),
      secret: new Uint8Array(seeds.secret),
      dataSeed: (index: number) => keccak(concatBytes(seeds.data, word(index))),
    };
    const { made, figures } = prove(
      (onPhase) =>
        proveRange(backend, job, (phase, segment, segments) => onPhase(phase, percentOf(phase, segment, segments))),
      ({ bundle, statement }) => verifyProofBundle(bundle, statement),
    );
    const report = {
      ...{ backend: 'sumcheck' as const, ...figures, segments: made.statement.segments.length },
      stateDigestBefore: to0x(stateDigest(manifest, weights)),
      stateDigestAfter: to0x(stateDigest(manifest, made.weights)),
    };
    return { report, proof: made.bundle, statement: proofStatementText(made.statement) };
  });
}

/** Public where the chain starts where the job's seed says, so that anyone recognises it; secret for other weights. */
function weightSeedOf(manifest: Manifest, from: number, weights: Weights): Uint8Array {
  const isStart =
    from === 0 && equalBytes(stateDigest(manifest, weights), stateDigest(manifest, initialWeights(manifest)));
  return isStart ? startSeed(manifest) : new Uint8Array(randomBytes(32));
}

/** Share of the proving time at which a phase begins, as measured on 784-64-10. */
const phaseStarts: Readonly<Record<string, number>> = { execute: 0, commit: 0.1, prove: 0.45 };

function percentOf(phase: string, segment: number, segments: number): number {
  const within = phaseStarts[phase];
  return within === undefined ? 1 : Math.round(2 + (96 * (segment + within)) / segments);
}

function trainedWeights(
  backend: KernelBackend,
  m: Manifest,
  examples: Examples,
  from: number,
  onProgress: (progress: Progress) => void,
): Weights {
  const start = initialWeights(m);
  if (from === 0) return start;
  const mark = backend.mark();
  try {
    const trainer = createExactTrainer(backend, m, start);
    for (let step = 0; step < from; step++) {
      if (step % 50 === 0) onProgress({ phase: `train to step ${from}`, percent: Math.floor((100 * step) / from) });
      trainer.train(step, blockExamples(m, examples, step));
    }
    return trainer.weights();
  } finally {
    backend.release(mark);
  }
}
