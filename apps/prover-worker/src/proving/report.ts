/** What proving files gives and tells on the way. */
import type { Ceremony, SoundnessTerm } from '#libs/zk/verifier';
import type { BackendChoice, BackendName } from '#libs/proof';

/** What is told of every proof. */
export interface ProofFigures {
  readonly profile: string;
  readonly proofBytes: number;
  readonly statementDigest: string;
  /** From the first commitment to the last byte; reading files and reaching the start weights aside. */
  readonly proveCpuSeconds: number;
  readonly proveWallSeconds: number;
  /** Most bytes of the prover's linear memory. */
  readonly peakBytes: number;
  readonly peakResidentBytes: number;
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
  /** Of one proof, the weakest, round by round; of a Groth16 proof there are none. */
  readonly soundnessRounds?: readonly SoundnessTerm[];
  /** Wall seconds by phase. */
  readonly phases: Readonly<Record<string, number>>;
}

interface ProveReport extends ProofFigures {
  readonly backend: BackendName;
  /** Why this backend. */
  readonly choice: BackendChoice;
  /** How the key of a Groth16 proof was made. */
  readonly ceremony?: Ceremony;
  readonly segments: number;
  /** State digests before and after, as `veritrain train` prints them. */
  readonly stateDigestBefore: string;
  readonly stateDigestAfter: string;
}

export interface ProvedFiles {
  readonly report: ProveReport;
  readonly proof: Uint8Array;
  readonly statement: string;
}

export interface Progress {
  readonly phase: string;
  readonly percent: number;
}

/** Seconds and bits, to three digits. */
export function rounded(value: number): number {
  return Number(value.toFixed(3));
}

/** What one backend gives; the choice is made before. */
export type ProvedSegments = Omit<ProvedFiles, 'report'> & { readonly report: Omit<ProveReport, 'choice'> };
