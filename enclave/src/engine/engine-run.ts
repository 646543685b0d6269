/** Trains on IDX files in memory and reports state digests: the work of engine-main.ts without its process. */
import { Rejection, toHex } from '#attestation/base';
import {
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  parseManifest,
  shuffledIndices,
  stateDigest,
} from '#libs/step';
import { Engine, type ChunkProgress, type EngineOptions } from './engine.js';
import { selfTest } from './self-test.js';

interface EngineRequest extends EngineOptions {
  /** Parsed JSON of a manifest. */
  readonly manifest: unknown;
  /** Paths of IDX files in record order before the shuffle. */
  readonly images: string;
  readonly labels: string;
  /** Numbers of finished steps after which to take the state digest; the run ends with the largest. */
  readonly digestAt: readonly number[];
}

export interface EngineReport {
  /** Lower-case hexadecimal state digest by number of finished steps. */
  readonly digests: Readonly<Record<string, string>>;
  /** Over the training steps alone, data loading and digests aside; 0 when no step was trained. */
  readonly samplesPerSecond: number;
}

const members = new Set(['manifest', 'images', 'labels', 'digestAt', 'threads', 'optimization']);
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
  for (const key of Object.keys(o)) demand(members.has(key), `members ${[...members].join(', ')}`, key);
  demand(typeof o.images === 'string' && typeof o.labels === 'string', 'paths images and labels', o.images);
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
 * @param read   bytes of a file by path, with its limit enforced
 * @param clock  monotonic milliseconds
 * @throws Rejection of the manifest, the files, the self-test or a guard
 */
export async function runEngine(
  request: EngineRequest,
  read: (path: string) => Promise<Uint8Array>,
  clock: () => number,
  onProgress: (progress: Omit<ChunkProgress, 'weights'>) => void,
): Promise<EngineReport> {
  const manifest = parseManifest(request.manifest);
  await selfTest(request);
  const engine = await Engine.open(manifest, request);
  try {
    const images = parseIdxImages(await read(request.images));
    const labels = parseIdxLabels(await read(request.labels));
    const order = shuffledIndices(manifest.seed, labels.length);
    const dataset = engine.load(orderExamples(manifest, images, labels, order));
    let weights = initialWeights(manifest);
    const digests: Record<string, string> = {};
    let step = 0;
    let milliseconds = 0;
    for (const next of [...new Set(request.digestAt)].sort((a, b) => a - b)) {
      const start = clock();
      weights = await engine.train({
        dataset,
        weights,
        fromStep: step,
        stepCount: next - step,
        onChunk: ({ step: done, loss, accuracy }) => onProgress({ step: done, loss, accuracy }),
      });
      milliseconds += clock() - start;
      step = next;
      digests[next] = toHex(stateDigest(manifest, weights));
    }
    const samplesPerSecond = step === 0 ? 0 : Math.round((step * manifest.batch * 1000) / milliseconds);
    return { digests, samplesPerSecond };
  } finally {
    await engine.close();
  }
}
