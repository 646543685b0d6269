/** Trains on files in memory and reports state digests: the work of engine-main.ts without its process. */
import { Rejection, toHex } from '#attestation/base';
import {
  initialWeights,
  isNet,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  parseJobManifest,
  shuffledIndices,
  splitNetRecords,
  stateDigest,
  weightParts,
  type JobManifest,
  type Weights,
} from '#libs/step';
import { keccakParts } from '#libs/zk/commit';
import { checkSteps } from './check-steps.js';
import { checkpointParts, readCheckpoint, runOf, type CheckpointedRun } from './checkpoint-file.js';
import { Engine, type ChunkProgress, type EngineOptions, type TrainRequest } from './engine.js';
import { NetEngine } from './net-engine.js';
import { selfTest } from './self-test.js';
import { startOfJob } from '../start.js';
import { Validation, type Evaluated } from './validation.js';

interface EngineRequest extends EngineOptions {
  /** Parsed JSON of a manifest. */
  readonly manifest: unknown;
  /** `float64`: no product in float32 or bytes, where these would do; `auto` when absent. No bit depends on it. */
  readonly carrier?: 'auto' | 'float64';
  /** Of `fxt/1`: paths of IDX files in record order before the shuffle. */
  readonly images?: string;
  readonly labels?: string;
  /** Of `fxt/2`: path of records of layout 2, in shuffled order. */
  readonly records?: string;
  /** Of `fxt/2` whose manifest evaluates: path of the records to measure on, from the start of the run. */
  readonly validation?: string;
  /** Of a manifest that starts from weights: path of the canonical bytes of all parameters. */
  readonly start?: string;
  /** Numbers of finished steps after which to take the state digest; the run ends with the largest. */
  readonly digestAt: readonly number[];
  /** Path for the canonical bytes of the state at the end. */
  readonly out?: string;
  /**
   * Of `fxt/2`: path of a file that is written after every so many steps and at the end. Where it exists, the run goes on
   * from it.
   */
  readonly checkpoint?: { readonly path: string; readonly everySteps: number };
}

export interface EngineReport {
  /** Lower-case hexadecimal state digest by number of finished steps. */
  readonly digests: Readonly<Record<string, string>>;
  /** Over the training steps alone, data loading and digests aside; 0 when no step was trained. */
  readonly samplesPerSecond: number;
  /** Of a run with a checkpoint: steps that it had done before. */
  readonly resumedFrom?: number;
  /** Of a run that the manifest's rule may end: steps done, and the state that it gives, which is the best. */
  readonly best?: { readonly done: number; readonly step: number; readonly digest: string };
}

/** What is told of a run while it goes on. */
interface EngineWatch {
  onProgress(progress: Omit<ChunkProgress, 'weights'>): void;
  onEvaluation(evaluated: Evaluated): void;
}

/** Bytes of files by path, with their limit enforced. */
interface EngineFiles {
  read(path: string): Promise<Uint8Array>;
  /** Null where there is no such file. */
  find(path: string): Promise<Uint8Array | null>;
  /** Whole or not at all, and on disk when it is done. */
  write(path: string, parts: Iterable<Uint8Array>): Promise<void>;
}

const common = ['manifest', 'digestAt', 'threads', 'optimization', 'isCounted', 'carrier', 'out'];
const sources = [
  ['images', 'labels'],
  ['records', 'start', 'checkpoint', 'validation'],
] as const;
const carriers = ['auto', 'float64'];
const levels = ['disabled', 'basic', 'extended', 'all'];
const digestsMax = 1_000;

/**
 * @param json parsed JSON of a request; unknown members are refused
 * @throws Rejection ENGINE_REQUEST
 */
export function parseEngineRequest(json: unknown): EngineRequest {
  const o = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const demand = (holds: boolean, expected: string, got: unknown) => {
    if (holds) return;
    throw new Rejection('ENGINE_REQUEST', {
      expected,
      got: (JSON.stringify(got) ?? 'nothing').slice(0, 120),
      rule: 'enclave engine request',
    });
  };
  const isCount = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  const own = sources['records' in o ? 1 : 0];
  const members = [...common, ...own];
  for (const key of Object.keys(o)) demand(members.includes(key), `members ${members.join(', ')}`, key);
  const files = [...own, 'out'].filter((name) => name !== 'checkpoint');
  const paths = files.filter((name) => name in o || name === 'images' || name === 'labels');
  for (const name of paths) demand(typeof o[name] === 'string', `path ${name}`, o[name]);
  const { digestAt, threads = 1, optimization = 'all', isCounted = false, carrier = 'auto', checkpoint } = o;
  demand(
    Array.isArray(digestAt) && digestAt.length >= 1 && digestAt.length <= digestsMax && digestAt.every(isCount),
    `digestAt as a list of 1 to ${digestsMax} step counts`,
    digestAt,
  );
  demand(isCount(threads) && Number(threads) >= 1 && Number(threads) <= 64, 'threads in 1..64', threads);
  demand(
    checkpoint === undefined || isCheckpoint(checkpoint),
    'checkpoint as {path, everySteps} with at least one step',
    checkpoint,
  );
  demand(levels.includes(String(optimization)), `optimization as one of ${levels.join(', ')}`, optimization);
  demand(typeof isCounted === 'boolean', 'isCounted as true or false', isCounted);
  demand(carriers.includes(String(carrier)), `carrier as one of ${carriers.join(', ')}`, carrier);
  const mayChoose = carrier === 'auto';
  const options = { threads, optimization, isCounted, hasQuick: mayChoose, hasBytes: mayChoose };
  return { ...o, ...options } as unknown as EngineRequest;
}

/**
 * @param clock  monotonic milliseconds
 * @throws Rejection of the manifest, of steps that it does not have, the files, the self-test or a guard
 */
export async function runEngine(
  request: EngineRequest,
  files: EngineFiles,
  clock: () => number,
  { onProgress, onEvaluation }: EngineWatch,
): Promise<EngineReport> {
  const manifest = parseJobManifest(request.manifest);
  checkSteps(manifest, 0, Math.max(...request.digestAt));
  await selfTest(request);
  const { engine, held, run, validation } = await loaded(manifest, request, files);
  try {
    const resumedFrom = held.step;
    const digests: Record<string, string> = {};
    const digestOf = (weights: Weights): string => toHex(stateDigest(manifest, weights, keccakParts));
    let milliseconds = 0;
    for (const next of stopsOf(request, resumedFrom, validation?.steps)) {
      const began = clock();
      const { step, weights } = held;
      const training = engine.train({
        weights,
        fromStep: step,
        stepCount: next - step,
        onChunk: ({ step: done, loss, accuracy, edges }) => onProgress({ step: done, loss, accuracy, edges }),
      });
      // While the steps run, the state that they begin with is the engine's alone.
      held.weights = [];
      held.weights = await training;
      held.step = next;
      milliseconds += clock() - began;
      if (request.digestAt.includes(next)) digests[next] = digestOf(held.weights);
      const { checkpoint } = request;
      if (run !== null && next > step) await files.write(checkpoint!.path, checkpointParts(run, held));
      if (validation === null || next === step || !validation.steps.includes(next)) continue;
      onEvaluation(await validation.evaluate({ ...held }));
      if (validation.isOver) break;
    }
    const best = validation?.best ?? null;
    if (request.out !== undefined) await files.write(request.out, weightParts((best ?? held).weights));
    const done = held.step - resumedFrom;
    const samplesPerSecond = done === 0 ? 0 : Math.round((done * manifest.batch * 1000) / milliseconds);
    return {
      ...{ digests, samplesPerSecond },
      ...(run !== null && { resumedFrom }),
      ...(best !== null && { best: { done: held.step, step: best.step, digest: digestOf(best.weights) } }),
    };
  } finally {
    await validation?.close();
    await engine.close();
  }
}

/** Numbers of finished steps at which something is to be done, in order. @throws Rejection ENGINE_REQUEST */
function stopsOf(
  { digestAt, checkpoint }: EngineRequest,
  resumedFrom: number,
  evaluated: readonly number[] = [],
): readonly number[] {
  const [first, last] = [Math.min(...digestAt), Math.max(...digestAt)];
  if (first < resumedFrom)
    throw wrongSource(`digests from step ${resumedFrom} on, as the checkpoint has it`, `${first}`);
  const stops = new Set(digestAt);
  const every = checkpoint?.everySteps ?? Infinity;
  for (let step = every * (Math.floor(resumedFrom / every) + 1); step < last; step += every) stops.add(step);
  for (const step of evaluated) if (step > resumedFrom && step < last) stops.add(step);
  return [...stops].sort((a, b) => a - b);
}

interface Loaded {
  readonly engine: {
    train(request: Omit<TrainRequest, 'dataset'>): Promise<Weights>;
    close(): Promise<void>;
  };
  /** Where the run is. */
  readonly held: { step: number; weights: Weights };
  /** Null where no checkpoint is asked for. */
  readonly run: CheckpointedRun | null;
  /** Null where nothing is measured on the way. */
  readonly validation: Validation | null;
}

async function loaded(manifest: JobManifest, request: EngineRequest, files: EngineFiles): Promise<Loaded> {
  if (isNet(manifest)) {
    if (request.records === undefined) throw wrongSource('records of layout 2', 'IDX files');
    const parts = request.start === undefined ? [] : [await files.read(request.start)];
    const { state, frozen } = startOfJob(manifest, parts);
    const records = await files.read(request.records);
    if (request.checkpoint !== undefined && manifest.stop !== null) {
      throw wrongSource('a manifest without stop beside a checkpoint', 'one whose rule needs all evaluations');
    }
    const run = request.checkpoint === undefined ? null : await runOf(manifest, records);
    const kept = run === null ? null : await files.find(request.checkpoint!.path);
    const held = kept === null ? { step: 0, weights: state } : readCheckpoint(run!, kept, request.checkpoint!.path);
    const engine = await NetEngine.open(manifest, frozen, request);
    const dataset = engine.load(splitNetRecords(manifest, records));
    const apart = request.validation === undefined ? null : await files.read(request.validation);
    const validation = apart && (await Validation.open(manifest, frozen, apart, request.threads));
    const training = {
      train: (one: Omit<TrainRequest, 'dataset'>) => engine.train({ ...one, dataset }),
      close: () => engine.close(),
    };
    return { engine: training, held, run, validation };
  }
  if (request.images === undefined || request.labels === undefined) throw wrongSource('IDX files', 'records');
  const engine = await Engine.open(manifest, request);
  const images = parseIdxImages(await files.read(request.images));
  const labels = parseIdxLabels(await files.read(request.labels));
  const order = shuffledIndices(manifest.seed, labels.length);
  const dataset = engine.load(orderExamples(manifest, images, labels, order));
  return {
    engine: { train: (one) => engine.train({ ...one, dataset }), close: () => engine.close() },
    ...{ held: { step: 0, weights: initialWeights(manifest) }, run: null, validation: null },
  };
}

function isCheckpoint(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { path, everySteps, ...others } = value as Record<string, unknown>;
  const isSteps = typeof everySteps === 'number' && Number.isSafeInteger(everySteps) && everySteps >= 1;
  return typeof path === 'string' && isSteps && Object.keys(others).length === 0;
}

function wrongSource(expected: string, got: string): Rejection {
  return new Rejection('ENGINE_REQUEST', { expected, got, rule: 'enclave engine request' });
}
