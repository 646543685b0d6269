/** The three profiles of libs/step/SPEC.md §3 as ready manifests. */
import { profileLoss, type Loss } from './losses/index.js';
import { parseManifest, type Manifest } from './manifest.js';

export type ProfileName = 'fx1' | 'fx1s' | 'fx1w';

export interface ProfileParameters {
  readonly dims: readonly number[];
  readonly batch: number;
  /** Step size exponent: one for all layers, or one per layer. */
  readonly e: number | readonly number[];
  readonly steps: number;
  /** 0x and 64 lower-case hexadecimal digits. */
  readonly seed: string;
  readonly m?: readonly (readonly [number, number])[];
  readonly superblock?: number;
  readonly loss?: Loss['kind'];
  readonly wint?: number | readonly number[];
  readonly gbits?: number;
}

const profiles = {
  fx1: { a: 6, abits: 12, g: 10, E: 10, k: 26 },
  fx1s: { a: 4, abits: 10, g: 8, E: 8, k: 24 },
  fx1w: { a: 8, abits: 12, g: 12, E: 12, k: 28 },
} as const;

/** @throws Rejection as `parseManifest` does */
export function profileManifest(name: ProfileName, parameters: ProfileParameters): Manifest {
  const { a, abits, g, E, k } = profiles[name];
  const { dims, batch, e, steps, seed } = parameters;
  const layerCount = dims.length - 1;
  const perLayer = (value: number) => Array.from({ length: Math.max(layerCount, 0) }, () => value);
  return parseManifest({
    fxt: 1,
    dims,
    batch,
    a: [8, ...perLayer(a)],
    abits,
    ybits: 16,
    gbits: parameters.gbits ?? 16,
    g: perLayer(g),
    e: typeof e === 'number' ? perLayer(e) : e,
    wint: parameters.wint ?? 2,
    loss: profileLoss(parameters.loss, { E, k }),
    optimizer: { kind: 'sgd', m: parameters.m ?? [[0, 1]] },
    steps,
    order: 'affine',
    superblock: parameters.superblock ?? 1,
    seed,
  });
}
