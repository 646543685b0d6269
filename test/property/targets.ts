/** What can be fuzzed: how many mutants, and why so many. Loaded when it is run: some need tools that others do not. */
import type { FuzzReport, OnProgress } from './fuzz.js';

export type Fuzz = (count: number, seed: number, onProgress: OnProgress) => Promise<FuzzReport>;

export interface Target {
  /** Without --count. */
  readonly count: number;
  /** With --short. */
  readonly short: number;
  readonly why: string;
  load(): Promise<Fuzz>;
}

const all = { count: 100_000, short: 2000, why: '' };
const served = { count: 100_000, short: 1000, why: 'each is answered by a server, with a database' };
const costly = { count: 10_000, short: 1000 };

export const targets = {
  evidence: { ...all, load: async () => (await import('./attestation-fuzz.js')).fuzzAttestation },
  bundle: {
    ...{ ...costly, why: 'each verifies a whole job, about 8 ms' },
    load: async () => (await import('./bundle-fuzz.js')).fuzzBundles,
  },
  grant: { ...all, load: async () => (await import('./grant-fuzz.js')).fuzzGrants },
  checkpoint: { ...all, load: async () => (await import('./checkpoint-fuzz.js')).fuzzCheckpoints },
  dispatch: { ...served, load: async () => (await import('./dispatch-fuzz.js')).fuzzDispatch },
  rest: { ...served, load: async () => (await import('./rest-fuzz.js')).fuzzRest },
  'step-proof': {
    ...{ ...costly, why: 'each is verified up to its last check, 10 ms or more' },
    load: async () => (await import('./step-proof-fuzz.js')).fuzzStepProofs,
  },
  groth16: {
    ...{ ...costly, short: 200, why: 'each takes pairings, 10 ms or more' },
    load: async () => (await import('./groth16-fuzz.js')).fuzzGroth16,
  },
} as const satisfies Record<string, Target>;

export type TargetName = keyof typeof targets;
