/** What can be fuzzed: how many mutants, and why so many. Loaded when it is run: some need tools that others do not. */
import type { DataFormat } from './data-files.js';
import type { FuzzReport, OnProgress } from './fuzz.js';
import type { GuestKind } from './guest-fuzz.js';

type Fuzz = (count: number, seed: number, onProgress: OnProgress) => Promise<FuzzReport>;

interface Target {
  /** Without --count. */
  readonly count: number;
  /** With --short. */
  readonly short: number;
  readonly why: string;
  load(): Promise<Fuzz>;
}

const cheap = { count: 100_000, short: 2000, why: 'a few minutes' };
const middling = { count: 100_000, short: 1000 };
const costly = { count: 10_000, short: 1000 };
const served = { ...middling, why: 'each is answered by a server with a database; 20 minutes' };

/** A file is written, opened, and read to its end or imported. */
const dataTarget = (kind: DataFormat, short: number): Target => ({
  ...{ count: 10_000, short, why: 'files that users bring; a few minutes' },
  load: async () => (await import('./data-fuzz.js')).fuzzData(kind),
});

const guestTarget = (kind: GuestKind): Target => ({
  ...{ count: 10_000, short: 400, why: 'what a guest is built and started from; a minute' },
  load: async () => {
    const { fuzzGuest } = await import('./guest-fuzz.js');
    return (count, seed, onProgress) => fuzzGuest(kind, count, seed, onProgress);
  },
});

export const targets = {
  evidence: { ...cheap, load: async () => (await import('./attestation-fuzz.js')).fuzzAttestation },
  bundle: {
    ...{ ...costly, why: 'each verifies a whole job, 8 ms; 100,000 take 13 minutes' },
    load: async () => (await import('./bundle-fuzz.js')).fuzzBundles,
  },
  grant: { ...cheap, load: async () => (await import('./grant-fuzz.js')).fuzzGrants },
  checkpoint: { ...cheap, load: async () => (await import('./checkpoint-fuzz.js')).fuzzCheckpoints },
  dispatch: { ...served, load: async () => (await import('./dispatch-fuzz.js')).fuzzDispatch },
  rest: { ...served, load: async () => (await import('./rest-fuzz.js')).fuzzRest },
  'step-proof': {
    ...{ ...middling, why: 'each is verified up to its last check, 4 ms; 8 minutes' },
    load: async () => (await import('./step-proof-fuzz.js')).fuzzStepProofs,
  },
  accuracy: {
    ...{ ...middling, why: 'each is verified up to its last check, 4 ms; 8 minutes' },
    load: async () => (await import('./accuracy-fuzz.js')).fuzzAccuracy,
  },
  onnx: {
    ...{ ...costly, short: 300, why: 'each that is taken is run by onnxruntime and by definition; 10 minutes' },
    load: async () => (await import('./onnx-fuzz.js')).fuzzOnnx,
  },
  safetensors: { ...cheap, load: async () => (await import('./safetensors-fuzz.js')).fuzzSafetensors },
  'data-csv': dataTarget('csv', 500),
  'data-jsonl': dataTarget('jsonl', 500),
  'data-parquet': dataTarget('parquet', 200),
  'data-npy': dataTarget('npy', 500),
  'data-idx': dataTarget('idx', 500),
  'data-png': dataTarget('png', 500),
  'data-jpeg': dataTarget('jpeg', 500),
  'data-tokenizer': dataTarget('tokenizer', 200),
  'guest-frames': guestTarget('frames'),
  'guest-signed': guestTarget('signed'),
  'guest-manifest': guestTarget('manifest'),
  'guest-image': guestTarget('image'),
  'guest-recipe': guestTarget('recipe'),
  'guest-packages': guestTarget('packages'),
  groth16: {
    ...{ ...costly, short: 200, why: 'each takes pairings, 35 ms; 100,000 take an hour' },
    load: async () => (await import('./groth16-fuzz.js')).fuzzGroth16,
  },
} as const satisfies Record<string, Target>;

export type TargetName = keyof typeof targets;
