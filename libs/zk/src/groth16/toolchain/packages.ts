/** The optional packages: loaded when asked for, and a clear answer where they are not installed. */
import { createRequire } from 'node:module';
import { ConfigurationError } from '#attestation/base';

const require = createRequire(import.meta.url);

/** Path of a file of an optional package. @throws ConfigurationError BACKEND_UNAVAILABLE */
export function optionalFile(path: string): string {
  try {
    return require.resolve(path);
  } catch {
    return unavailable(path.split('/')[0]!);
  }
}

/** @throws ConfigurationError BACKEND_UNAVAILABLE */
export async function loadSnarkjs(): Promise<typeof import('snarkjs') & { readonly curves: Curves }> {
  try {
    return (await import('snarkjs')) as typeof import('snarkjs') & { readonly curves: Curves };
  } catch {
    return unavailable('snarkjs');
  }
}

function unavailable(name: string): never {
  throw new ConfigurationError('BACKEND_UNAVAILABLE', {
    expected: 'the optional packages snarkjs, circom2 and circomlib',
    got: `no ${name}`,
    rule: 'libs/zk/src/groth16/SPEC.md §1',
    action: 'npm install --no-save snarkjs@0.7.6 circom2@0.2.23 circomlib@2.0.5, or use --backend sumcheck',
  });
}

/** The part of ffjavascript that the development ceremony needs; snarkjs's types leave it out. */
interface Curves {
  getCurveFromName(name: 'bn128'): Promise<Curve>;
}

/** Points are byte strings: Jacobian for results, affine in files. */
export interface Group {
  readonly g: Uint8Array;
  readonly zero: Uint8Array;
  readonly F: { readonly n8: number };
  add(a: Uint8Array, b: Uint8Array): Uint8Array;
  double(a: Uint8Array): Uint8Array;
  batchToAffine(points: Uint8Array): Promise<Uint8Array>;
}

export interface Curve {
  readonly q: bigint;
  readonly r: bigint;
  readonly G1: Group;
  readonly G2: Group;
  /** w[k]: the root of unity of order 2^k that snarkjs's domains use. */
  readonly Fr: { readonly w: readonly Uint8Array[]; toObject(element: Uint8Array): bigint };
  terminate(): Promise<void>;
}
