/** Small segments for tests of the Groth16 backend: manifests, seeded records, openings. */
import { fileURLToPath } from 'node:url';
import { keccak, utf8 } from '#attestation/base';
import { initialWeights, profileManifest, type Examples, type Manifest, type ProfileParameters } from '#libs/step';
import { blindFrom } from '../groth16/commitment/index.js';
import type { SegmentWitness } from '../groth16/prover/prove.js';
import { circuitShape, type CircuitShape } from '../groth16/relation/shape.js';

/** Circuits and development keys stay here between runs; git ignores it. */
export const testCache = fileURLToPath(new URL('../../../../.veritrain/cache/groth16', import.meta.url));

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';

function groth16Manifest(parameters: Partial<ProfileParameters> = {}): Manifest {
  return profileManifest('fx1s', { dims: [2, 2, 2], batch: 2, e: 4, loss: 'mse', steps: 64, seed, ...parameters });
}

export function groth16Shape(parameters: Partial<ProfileParameters> = {}): CircuitShape {
  return circuitShape(groth16Manifest(parameters));
}

export function bytesOf(name: string, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, i) => keccak(utf8(`${name} ${i >> 5}`))[i & 31]!);
}

export function groth16Examples({ manifest }: CircuitShape, name: string): Examples {
  const count = manifest.superblock * manifest.batch;
  return {
    count,
    features: bytesOf(`features ${name}`, count * manifest.dims[0]!),
    labels: bytesOf(`labels ${name}`, count).map((byte) => byte % manifest.dims.at(-1)!),
  };
}

/** The first segment, or a later one from the same start weights. */
export function groth16Witness(shape: CircuitShape, index = 0): SegmentWitness {
  const secret = bytesOf('test secret', 32);
  return {
    before: { weights: initialWeights(shape.manifest), blind: blindFrom(secret, 'start', 0) },
    examples: groth16Examples(shape, 'test'),
    dataBlind: blindFrom(secret, 'data', 0),
    index,
    afterBlind: blindFrom(secret, 'after', index),
    outerDigest: (after) => keccak(after),
  };
}
