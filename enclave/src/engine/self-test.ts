/** The tiny net of libs/step/SPEC.md §14.1, run on this machine's runtime before any work is accepted. */
import { Rejection, toHex } from '#attestation/base';
import { initialWeights, profileManifest, stateDigest, type ProfileName } from '#libs/step';
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

const examples = {
  count: 2,
  features: Uint8Array.of(0, 128, 255, 200, 10, 77),
  labels: Uint8Array.of(1, 0),
};

/**
 * Runs every vector on the quick graph and on the one whose guards tell.
 *
 * @throws Rejection ENGINE_SELF_TEST when the runtime does not reproduce a vector
 */
export async function selfTest(options: EngineOptions = {}): Promise<void> {
  for (const hasQuick of [true, false]) await runVectors({ ...options, hasQuick });
}

async function runVectors(options: EngineOptions): Promise<void> {
  for (const { profile, m, digests } of vectors) {
    const manifest = profileManifest(profile, { dims: [3, 4, 2], batch: 2, e: 4, m, steps: 3, seed });
    const engine = await Engine.open(manifest, options);
    try {
      await engine.train({
        dataset: engine.load(examples),
        weights: initialWeights(manifest),
        fromStep: 0,
        stepCount: 3,
        chunkSteps: 1,
        onChunk: ({ step, weights }) => demand(digests[step], toHex(stateDigest(manifest, weights())), step),
      });
    } finally {
      await engine.close();
    }
  }
}

function demand(expected: string | undefined, got: string, step: number): void {
  if (expected === undefined || expected === got) return;
  throw new Rejection('ENGINE_SELF_TEST', {
    expected: `${expected} after ${step} steps`,
    got,
    rule: 'libs/step/SPEC.md §14.1',
    action: 'this machine or its onnxruntime does not compute exact integers in float64; do not train on it',
  });
}
