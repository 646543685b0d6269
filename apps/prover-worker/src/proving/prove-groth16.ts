/** Proves consecutive segments of plain IDX files with Groth16: the other way through prove-files.ts. */
import { randomBytes } from 'node:crypto';
import { to0x } from '#attestation/base';
import {
  encodeGroth16Bundle,
  groth16StatementText,
  segmentOuterDigest,
  verifyGroth16Bundle,
  type Groth16SegmentData,
  type Groth16Statement,
} from '#libs/proof';
import {
  datasetRoot,
  initialWeights,
  merklePath,
  orderSize,
  stateDigest,
  stepReference,
  superblockOfStep,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import {
  openCircuit,
  openKey,
  proveGroth16Segment,
  type Circuit,
  type Groth16Proof,
  type ProvingKey,
} from '#libs/zk/groth16';
import { blindFrom, commitToData, commitToWeights } from '#libs/zk/groth16/commitment';
import { circuitShape, groth16DataDigest, groth16WeightsDigest, keyDigest } from '#libs/zk/verifier';
import { groth16Cache } from './groth16-cache.js';
import { blockExamples, checkRange, superblockExamples } from './records.js';
import { rounded, type Progress, type ProvedSegments } from './report.js';
import type { ProveRequest } from './request.js';
import { startWeights } from './start-weights.js';
import { createStopwatch } from './stopwatch.js';

const noJob = new Uint8Array(32);

/** @throws Rejection, ConfigurationError BACKEND_UNAVAILABLE, GROTH16_*; GuardViolation GUARD_VIOLATION */
export async function proveFilesGroth16(
  manifest: Manifest,
  examples: Examples,
  request: ProveRequest,
  onProgress: (progress: Progress) => void,
): Promise<ProvedSegments> {
  const watch = createStopwatch();
  const enter = (phase: string, percent: number): void => {
    watch.enter(phase);
    onProgress({ phase, percent });
  };
  enter('compile', 1);
  const limits = { memoryBytesMax: request.memoryMiB * 2 ** 20 };
  const circuit = await openCircuit(groth16Cache, circuitShape(manifest), limits);
  enter('key', 10);
  const key = await openKey(groth16Cache, circuit, keySourceOf(request), limits);
  enter('start weights', 50);
  const weights = await startWeights(manifest, request, () => trained(manifest, examples, request.from));
  const began = performance.now();
  const made = await proveChain(circuit, key, examples, weights, request, (i, n) => enter('prove', 55 + (40 * i) / n));
  const proveWallSeconds = (performance.now() - began) / 1000;
  enter('verify', 99);
  const { statementDigest, soundnessBits } = verifyGroth16Bundle(made.bundle, made.statement, {
    takesDevelopmentKeys: true,
  });
  watch.end();
  const peakBytes = Math.max(...made.proofs.map((proof) => proof.peakBytes));
  const report = {
    backend: 'groth16' as const,
    profile: 'groth16',
    ceremony: key.ceremony,
    proofBytes: made.bundle.length,
    statementDigest: to0x(statementDigest),
    proveCpuSeconds: rounded(made.proofs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)),
    proveWallSeconds: rounded(proveWallSeconds),
    ...{ peakBytes, peakResidentBytes: peakBytes, soundnessBits, soundnessSumBits: soundnessBits },
    segments: made.proofs.length,
    phases: watch.seconds(),
    stateDigestBefore: to0x(stateDigest(manifest, weights)),
    stateDigestAfter: to0x(stateDigest(manifest, made.proofs.at(-1)!.opening.weights)),
  };
  return { report, proof: made.bundle, statement: groth16StatementText(made.statement) };
}

interface ProvedChain {
  readonly bundle: Uint8Array;
  readonly statement: Groth16Statement;
  readonly proofs: readonly Groth16Proof[];
}

/** The data root covers the superblocks that the segments read; the leaves of all others are zero. */
async function proveChain(
  circuit: Circuit,
  key: ProvingKey,
  examples: Examples,
  weights: Weights,
  { from, steps, memoryMiB }: ProveRequest,
  onSegment: (index: number, count: number) => void,
): Promise<ProvedChain> {
  const { shape, digest } = circuit;
  const { manifest } = shape;
  const { first, segments } = checkRange(manifest, from, steps);
  const secret = new Uint8Array(randomBytes(32));
  const superblockOf = (i: number): number =>
    superblockOfStep(manifest, (first + i) * manifest.superblock, examples.count);
  const roots = new Map<number, Uint8Array>();
  for (let i = 0; i < segments; i++) {
    const records = superblockExamples(manifest, examples, (first + i) * manifest.superblock);
    const superblock = superblockOf(i);
    if (!roots.has(superblock)) {
      roots.set(superblock, commitToData(shape, records, blindFrom(secret, 'data', superblock)));
    }
  }
  const digests = Array.from({ length: orderSize(manifest, examples.count).superblocks }, (_, k) => {
    const root = roots.get(k);
    return root ? groth16DataDigest(shape, root) : new Uint8Array(32);
  });
  const job = { jobId: noJob, manifest, datasetRoot: datasetRoot(digests) };
  let before = { weights, blind: blindFrom(secret, 'start', 0) };
  const borders = [commitToWeights(shape, weights, before.blind)];
  const proofs: Groth16Proof[] = [];
  const data: Groth16SegmentData[] = [];
  for (let i = 0; i < segments; i++) {
    onSegment(i, segments);
    const [index, superblock] = [first + i, superblockOf(i)];
    const firstStep = index * manifest.superblock;
    const covered = { index, from: firstStep, count: Math.min(manifest.superblock, manifest.steps - firstStep) };
    const weightsBefore = groth16WeightsDigest(shape, borders[i]!);
    const witness = {
      ...{ before, index, dataBlind: blindFrom(secret, 'data', superblock) },
      afterBlind: blindFrom(secret, 'after', index),
      examples: superblockExamples(manifest, examples, firstStep),
      outerDigest: (after: Uint8Array) =>
        segmentOuterDigest(job, covered, weightsBefore, groth16WeightsDigest(shape, after)),
    };
    const proof = await proveGroth16Segment(circuit, key, witness, { memoryBytesMax: memoryMiB * 2 ** 20 });
    proofs.push(proof);
    borders.push(proof.after);
    data.push({ data: proof.data, path: merklePath(digests, superblock) });
    before = proof.opening;
  }
  const statement: Groth16Statement = {
    ...{ backend: 'groth16', ceremony: key.ceremony, ...job, recordCount: examples.count, firstStep: from, borders },
    verificationKey: keyDigest(digest, key.ceremony, key.bytes),
    segments: data,
  };
  return {
    bundle: encodeGroth16Bundle(
      key.bytes,
      proofs.map(({ proof }) => proof),
    ),
    statement,
    proofs,
  };
}

function trained(m: Manifest, examples: Examples, from: number): Weights {
  let weights = initialWeights(m);
  for (let step = 0; step < from; step++) {
    weights = stepReference(m, weights, blockExamples(m, examples, step), step, 'proved').weights;
  }
  return weights;
}

function keySourceOf({ key: { ptau, zkey } }: ProveRequest) {
  return { ...(ptau && { ptau }), ...(zkey && { zkey }) };
}
