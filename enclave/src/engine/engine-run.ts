/** Trains on files in memory and reports state digests: the work of engine-main.ts without its process. */
import { Rejection, toHex } from '#attestation/base';
import {
  encodeWeights,
  initialWeights,
  isNet,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  parseJobManifest,
  shuffledIndices,
  splitNetRecords,
  stateDigest,
  type JobManifest,
  type Weights,
} from '#libs/step';
import { Engine, type ChunkProgress, type EngineOptions, type TrainRequest } from './engine.js';
import { NetEngine } from './net-engine.js';
import { selfTest } from './self-test.js';
import { startOfJob } from '../start.js';

interface EngineRequest extends EngineOptions {
  /** Parsed JSON of a manifest. */
  readonly manifest: unknown;
  /** Of `fxt/1`: paths of IDX files in record order before the shuffle. */
  readonly images?: string;
  readonly labels?: string;
  /** Of `fxt/2`: path of records of layout 2, in shuffled order. */
  readonly records?: string;
  /** Of a manifest that starts from weights: path of the canonical bytes of all parameters. */
  readonly start?: string;
  /** Numbers of finished steps after which to take the state digest; the run ends with the largest. */
  readonly digestAt: readonly number[];
  /** Path for the canonical bytes of the state at the end. */
  readonly out?: string;
}

export interface EngineReport {
  /** Lower-case hexadecimal state digest by number of finished steps. */
  readonly digests: Readonly<Record<string, string>>;
  /** Over the training steps alone, data loading and digests aside; 0 when no step was trained. */
  readonly samplesPerSecond: number;
}

/** Bytes of files by path, with their limit enforced. */
interface EngineFiles {
  read(path: string): Promise<Uint8Array>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}

const common = ['manifest', 'digestAt', 'threads', 'optimization', 'out'];
const sources = [
  ['images', 'labels'],
  ['records', 'start'],
] as const;
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
  const paths = [...own, 'out'].filter((name) => name in o || name === 'images' || name === 'labels');
  for (const name of paths) demand(typeof o[name] === 'string', `path ${name}`, o[name]);
  const { digestAt, threads = 1, optimization = 'all' } = o;
  demand(
    Array.isArray(digestAt) && digestAt.length >= 1 && digestAt.length <= digestsMax && digestAt.every(isCount),
    `digestAt as a list of 1 to ${digestsMax} step counts`,
    digestAt,
  );
  demand(isCount(threads) && Number(threads) >= 1 && Number(threads) <= 64, 'threads in 1..64', threads);
  demand(levels.includes(String(optimization)), `optimization as one of ${levels.join(', ')}`, optimization);
  return { ...o, threads, optimization } as unknown as EngineRequest;
}

/**
 * @param clock  monotonic milliseconds
 * @throws Rejection of the manifest, the files, the self-test or a guard
 */
export async function runEngine(
  request: EngineRequest,
  files: EngineFiles,
  clock: () => number,
  onProgress: (progress: Omit<ChunkProgress, 'weights'>) => void,
): Promise<EngineReport> {
  const manifest = parseJobManifest(request.manifest);
  await selfTest(request);
  const { engine, start } = await loaded(manifest, request, files);
  try {
    let weights = start;
    const digests: Record<string, string> = {};
    let step = 0;
    let milliseconds = 0;
    for (const next of [...new Set(request.digestAt)].sort((a, b) => a - b)) {
      const began = clock();
      weights = await engine.train({
        weights,
        fromStep: step,
        stepCount: next - step,
        onChunk: ({ step: done, loss, accuracy }) => onProgress({ step: done, loss, accuracy }),
      });
      milliseconds += clock() - began;
      step = next;
      digests[next] = toHex(stateDigest(manifest, weights));
    }
    if (request.out !== undefined) await files.write(request.out, encodeWeights(weights));
    const samplesPerSecond = step === 0 ? 0 : Math.round((step * manifest.batch * 1000) / milliseconds);
    return { digests, samplesPerSecond };
  } finally {
    await engine.close();
  }
}

interface Loaded {
  readonly engine: {
    train(request: Omit<TrainRequest, 'dataset'>): Promise<Weights>;
    close(): Promise<void>;
  };
  readonly start: Weights;
}

async function loaded(manifest: JobManifest, request: EngineRequest, files: EngineFiles): Promise<Loaded> {
  if (isNet(manifest)) {
    if (request.records === undefined) throw wrongSource('records of layout 2', 'IDX files');
    const parts = request.start === undefined ? [] : [await files.read(request.start)];
    const { state, frozen } = startOfJob(manifest, parts);
    const engine = await NetEngine.open(manifest, frozen, request);
    const dataset = engine.load(splitNetRecords(manifest, await files.read(request.records)));
    return { engine: { train: (one) => engine.train({ ...one, dataset }), close: () => engine.close() }, start: state };
  }
  if (request.images === undefined || request.labels === undefined) throw wrongSource('IDX files', 'records');
  const engine = await Engine.open(manifest, request);
  const images = parseIdxImages(await files.read(request.images));
  const labels = parseIdxLabels(await files.read(request.labels));
  const order = shuffledIndices(manifest.seed, labels.length);
  const dataset = engine.load(orderExamples(manifest, images, labels, order));
  const start = initialWeights(manifest);
  return { engine: { train: (one) => engine.train({ ...one, dataset }), close: () => engine.close() }, start };
}

function wrongSource(expected: string, got: string): Rejection {
  return new Rejection('ENGINE_REQUEST', { expected, got, rule: 'enclave engine request' });
}
