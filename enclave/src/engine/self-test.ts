/** The tiny net of libs/step/SPEC.md §14.1, run on this machine's runtime before any work is accepted. */
import { CodedError, Rejection, toHex } from '#attestation/base';
import { chosenProvider, providerRefused } from '#libs/onnx';
import {
  initialWeights,
  profileManifest,
  stateDigest,
  type Examples,
  type Manifest,
  type ProfileName,
} from '#libs/step';
import { Engine, type EngineOptions } from './engine.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const schedule = [
  [0, 4],
  [1, 2],
  [2, 1],
] as const;

interface Vector {
  readonly profile: ProfileName;
  readonly m: readonly (readonly [number, number])[];
  /** State digest after each step checked. */
  readonly digests: Readonly<Record<number, string>>;
}

const vectors: readonly Vector[] = [
  {
    profile: 'fx1',
    m: [[0, 1]],
    digests: {
      1: '138641c6a1f69e44e7b1ae0e0347b634b632b4c8ab8ece457d2c547065e99c6b',
      2: 'b9174bfe451a8636debb46978667d00c72689d4e80361fccd72899f29fd680c3',
      3: 'dad5a83928a3c11328ff249f98c86e4d33b4dae37ae6412d461c63fb4b05c447',
    },
  },
  { profile: 'fx1', m: schedule, digests: { 3: 'b6492036c3b04512161d6c0cbe27890f696d746fe286fdc40ec4cbfa6d730400' } },
  {
    profile: 'fx1s',
    m: [[0, 1]],
    digests: { 3: 'caa003ca43ec9db4b254fe5cff427cb5e78fb15d8fcd727eb89408cd6c0563ef' },
  },
];

const examples: Examples = {
  count: 2,
  features: Uint8Array.of(0, 128, 255, 200, 10, 77),
  labels: Uint8Array.of(1, 0),
};

const tiny = { dims: [3, 4, 2], batch: 2, e: 4, steps: 3, seed };

/** Sums of 784 and 256 terms: a device that sums otherwise in wide operators than in narrow ones differs here. */
const wide = { dims: [784, 256, 10], batch: 16, e: 8, m: [[0, 1]] as const, steps: 2, seed };
export const wideDigests = {
  1: '3ba345d9cd97c2af5fa3723f83a2fd24f72dbd4bd6fbf031f33f07c360a555bd',
  2: '2dbb75112e7e25e4d7da871cbb04dbb1428e8481e29cf9e2b2c64801027991f2',
};

export const wideManifest = profileManifest('fx1', wide);

export function wideExamples(): Examples {
  const count = wide.batch;
  return {
    count,
    features: Uint8Array.from({ length: count * wide.dims[0]! }, (_, at) => ((at * 7919) >> 5) & 0xff),
    labels: Uint8Array.from({ length: count }, (_, at) => at % 10),
  };
}

/**
 * Runs every vector on the quick graph and on the one whose guards tell.
 *
 * @throws Rejection ENGINE_SELF_TEST when the runtime does not reproduce a vector
 */
export async function selfTest(options: EngineOptions = {}): Promise<void> {
  for (const hasQuick of [true, false]) {
    for (const { profile, m, digests } of vectors)
      await runVector(profileManifest(profile, { ...tiny, m }), examples, digests, { ...options, hasQuick });
  }
}

/**
 * The self-test of the device that was chosen: on one that is not the processor a wide graph besides, since such devices have
 * other code for wide operators than for narrow ones.
 *
 * @throws Rejection ENGINE_SELF_TEST; ConfigurationError ENGINE_PROVIDER: no session can be had on this device
 */
export async function selfTestOfDevice(provider = chosenProvider()): Promise<void> {
  if (provider === 'cpu') return selfTest();
  try {
    await selfTest();
    await wideSelfTest();
  } catch (error) {
    if (error instanceof CodedError) throw error;
    const got = error instanceof Error ? error.message.slice(0, 300) : 'another failure';
    throw providerRefused(
      `graphs of the engine on ${provider}, none of it on the processor`,
      got,
      'look at its driver',
    );
  }
}

/** @throws Rejection ENGINE_SELF_TEST */
export async function wideSelfTest(options: EngineOptions = {}): Promise<void> {
  for (const hasQuick of [true, false])
    await runVector(wideManifest, wideExamples(), wideDigests, { ...options, hasQuick });
}

async function runVector(
  manifest: Manifest,
  records: Examples,
  digests: Readonly<Record<number, string>>,
  options: EngineOptions,
): Promise<void> {
  const engine = await Engine.open(manifest, options);
  try {
    await engine.train({
      dataset: engine.load(records),
      weights: initialWeights(manifest),
      fromStep: 0,
      stepCount: manifest.steps,
      chunkSteps: 1,
      onChunk: ({ step, weights }) => demand(digests[step], toHex(stateDigest(manifest, weights())), step),
    });
  } finally {
    await engine.close();
  }
}

function demand(expected: string | undefined, got: string, step: number): void {
  if (expected === undefined || expected === got) return;
  throw new Rejection('ENGINE_SELF_TEST', {
    expected: `${expected} after ${step} steps`,
    got,
    rule: 'libs/step/SPEC.md §14.1',
    action: 'this device or its onnxruntime does not compute exact integers in float64; do not train on it',
  });
}
