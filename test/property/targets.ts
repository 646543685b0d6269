/** What can be fuzzed: how many mutants, and why so many. Loaded when it is run: some need tools that others do not. */
import type { FuzzReport, OnProgress } from './fuzz.js';

export type Fuzz = (count: number, seed: number, onProgress: OnProgress) => Promise<FuzzReport>;

export interface Target {
  /** Without --count. */
  readonly count: number;
  readonly why: string;
  load(): Promise<Fuzz>;
}

const all = { count: 100_000, why: '' };
const costly = (what: string) => ({ count: 10_000, why: what });

export const targets = {
  evidence: { ...all, load: async () => (await import('./attestation-fuzz.js')).fuzzAttestation },
  bundle: {
    ...costly('each verifies a whole job'),
    load: async () => (await import('./bundle-fuzz.js')).fuzzBundles,
  },
  grant: { ...all, load: async () => (await import('./grant-fuzz.js')).fuzzGrants },
  checkpoint: { ...all, load: async () => (await import('./checkpoint-fuzz.js')).fuzzCheckpoints },
  dispatch: { ...all, load: async () => (await import('./dispatch-fuzz.js')).fuzzDispatch },
  rest: { ...all, load: async () => (await import('./rest-fuzz.js')).fuzzRest },
  'step-proof': {
    ...costly('each verifies up to its last check'),
    load: async () => (await import('./step-proof-fuzz.js')).fuzzStepProofs,
  },
  groth16: {
    ...costly('each takes pairings'),
    load: async () => (await import('./groth16-fuzz.js')).fuzzGroth16,
  },
} as const satisfies Record<string, Target>;

export type TargetName = keyof typeof targets;
