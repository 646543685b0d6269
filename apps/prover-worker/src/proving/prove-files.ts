/** A proof of a segment from plain IDX files, start weights from the seed: the work of prove-main.ts without its process. */
import { randomBytes } from 'node:crypto';
import { concatBytes, ConfigurationError, equalBytes, fromHex, keccak, Rejection, toHex, word } from '#attestation';
import {
  checkBounds,
  decodeWeights,
  initialWeights,
  parseManifest,
  stateDigest,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { proofStatementText, verifyProofBundle } from '#libs/proof';
import { loadExamples, readLimited } from './files.js';
import { choosePlan } from './plan-choice.js';
import { proveRange } from './prove-range.js';
import { blockExamples, checkRange } from './records.js';
import type { ProveRequest } from './request.js';
import { createStopwatch } from './stopwatch.js';
import { createExactTrainer } from './trainer.js';

export interface ProveReport {
  readonly backend: 'sumcheck';
  readonly profile: string;
  readonly proofBytes: number;
  readonly statementDigest: string;
  /** From the first commitment to the last byte; reading files and reaching the start weights aside. */
  readonly proveCpuSeconds: number;
  readonly proveWallSeconds: number;
  /** Most bytes of the prover's linear memory. */
  readonly peakBytes: number;
  readonly peakResidentBytes: number;
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
  readonly segments: number;
  /** Wall seconds by phase. */
  readonly phases: Readonly<Record<string, number>>;
  /** State digests before and after, as `veritrain train` prints them. */
  readonly stateDigestBefore: string;
  readonly stateDigestAfter: string;
}

export interface ProvedFiles {
  readonly report: ProveReport;
  readonly proof: Uint8Array;
  readonly statement: string;
}

export interface Progress {
  readonly phase: string;
  readonly percent: number;
}

/** @throws Rejection, ConfigurationError; BACKEND_UNAVAILABLE for a backend that this version does not have */
export async function proveFiles(
  request: ProveRequest,
  onProgress: (progress: Progress) => void,
): Promise<ProvedFiles> {
  if (request.backend === 'groth16') {
    throw new ConfigurationError('BACKEND_UNAVAILABLE', {
      expected: 'backend auto or sumcheck',
      got: 'groth16, which this version does not have',
      rule: 'prover worker, backends',
      action: 'leave --backend out',
    });
  }
  const manifest = parseManifest(request.manifest);
  checkBounds(manifest);
  const { from, steps } = request;
  checkRange(manifest, from, steps);
  const plan = choosePlan(manifest, request.profile, 'joint');
  const watch = createStopwatch();
  watch.enter('load');
  onProgress({ phase: 'load', percent: 0 });
  const examples = await loadExamples(manifest, request);
  const rowLogMax = plan.profile.m;
  const memoryBytesMax = request.memoryMiB * 2 ** 20;
  const engine = await createPool({ threads: request.threads, rowLogMax, memoryBytesMax });
  try {
    const backend = new KernelBackend(engine);
    watch.enter('start weights');
    const weights = await startWeights(backend, manifest, examples, request, onProgress);
    const began = { cpu: process.cpuUsage(), at: performance.now() };
    const seeds = { data: randomBytes(32), weights: randomBytes(32), secret: randomBytes(32) };
    const proved = proveRange(
      backend,
      {
        ...{ plan, examples, from, steps, weights, jobId: new Uint8Array(32) },
        weightSeed: new Uint8Array(seeds.weights),
        secret: new Uint8Array(seeds.secret),
        dataSeed: (index) => keccak(concatBytes(seeds.data, word(index))),
      },
      (phase, segment, segments) => {
        watch.enter(phase);
        onProgress({ phase, percent: percentOf(phase, segment, segments) });
      },
    );
    watch.end();
    const cpu = process.cpuUsage(began.cpu);
    const proveWallSeconds = (performance.now() - began.at) / 1000;
    onProgress({ phase: 'verify', percent: 99 });
    const { statementDigest, soundnessBits, soundnessSumBits } = verifyProofBundle(proved.bundle, proved.statement);
    const report: ProveReport = {
      backend: 'sumcheck',
      profile: plan.profile.name,
      proofBytes: proved.bundle.length,
      statementDigest: `0x${toHex(statementDigest)}`,
      proveCpuSeconds: round((cpu.user + cpu.system) / 1e6),
      proveWallSeconds: round(proveWallSeconds),
      peakBytes: engine.memory.peakBytes,
      peakResidentBytes: process.resourceUsage().maxRSS * 1024,
      soundnessBits: round(soundnessBits),
      soundnessSumBits: round(soundnessSumBits),
      segments: proved.statement.segments.length,
      phases: watch.seconds(),
      stateDigestBefore: `0x${toHex(stateDigest(manifest, weights))}`,
      stateDigestAfter: `0x${toHex(stateDigest(manifest, proved.weights))}`,
    };
    return { report, proof: proved.bundle, statement: proofStatementText(proved.statement) };
  } finally {
    await engine.close();
  }
}

/** Share of the proving time at which a phase begins, as measured on 784-64-10. */
const phaseStarts: Readonly<Record<string, number>> = { execute: 0, commit: 0.1, prove: 0.45 };

function percentOf(phase: string, segment: number, segments: number): number {
  const within = phaseStarts[phase];
  return within === undefined ? 1 : Math.round(2 + (96 * (segment + within)) / segments);
}

/** @throws Rejection WEIGHTS_START when the given weights are not those that training reaches */
async function startWeights(
  backend: KernelBackend,
  m: Manifest,
  examples: Examples,
  { from, weights: file, stateDigest: claimed }: ProveRequest,
  onProgress: (progress: Progress) => void,
): Promise<Weights> {
  const given = file === undefined ? undefined : decodeWeights(m, await readLimited(file));
  const weights =
    given !== undefined && claimed !== undefined ? given : trainedWeights(backend, m, examples, from, onProgress);
  const expected = claimed === undefined ? stateDigest(m, weights) : fromHex(claimed);
  const got = stateDigest(m, given ?? weights);
  if (equalBytes(expected, got)) return weights;
  throw new Rejection('WEIGHTS_START', {
    expected: `weights of step ${from} with state digest 0x${toHex(expected)}`,
    got: `0x${toHex(got)}`,
    rule: 'fixed-point §11',
    action: 'give the weights or the digest of the step named by --from',
  });
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

function round(value: number): number {
  return Number(value.toFixed(3));
}
