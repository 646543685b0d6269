/** A pool of kernels that proves, and what every proof by it tells alike. */
import { to0x } from '#attestation/base';
import { createPool, KernelBackend } from '#libs/zk';
import type { Plan, SoundnessTerm } from '#libs/zk/verifier';
import { rounded, type Progress, type ProofFigures } from './report.js';
import { createStopwatch } from './stopwatch.js';

interface Limits {
  readonly threads: number;
  readonly memoryMiB: number;
}

/** What verifying a bundle tells. */
interface Verified {
  readonly statementDigest: Uint8Array;
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
  readonly soundnessRounds: readonly SoundnessTerm[];
}

interface Figured<M, V> {
  readonly made: M;
  readonly verified: V;
  readonly figures: ProofFigures;
}

interface Prover {
  readonly backend: KernelBackend;
  /** Enters a phase that comes before the proof. */
  enter(phase: string): void;
  /** Times the proof, then verifies it. */
  prove<M extends { readonly bundle: Uint8Array }, V extends Verified>(
    make: (onPhase: (phase: string, percent: number) => void) => M,
    verify: (made: M) => V,
  ): Figured<M, V>;
}

/** @throws ConfigurationError ZK_MEMORY_EXCEEDED, and what `work` throws */
export async function withProver<T>(
  { profile }: Plan,
  { threads, memoryMiB }: Limits,
  onProgress: (progress: Progress) => void,
  work: (prover: Prover) => T | Promise<T>,
): Promise<T> {
  const watch = createStopwatch();
  const engine = await createPool({ threads, rowLogMax: profile.m, memoryBytesMax: memoryMiB * 2 ** 20 });
  const prove: Prover['prove'] = (make, verify) => {
    const [began, at] = [process.cpuUsage(), performance.now()];
    const made = make((phase, percent) => {
      watch.enter(phase);
      onProgress({ phase, percent });
    });
    watch.end();
    const cpu = process.cpuUsage(began);
    const proveWallSeconds = rounded((performance.now() - at) / 1000);
    onProgress({ phase: 'verify', percent: 99 });
    const verified = verify(made);
    const figures = {
      profile: profile.name,
      proofBytes: made.bundle.length,
      statementDigest: to0x(verified.statementDigest),
      proveCpuSeconds: rounded((cpu.user + cpu.system) / 1e6),
      proveWallSeconds,
      peakBytes: engine.memory.peakBytes,
      peakResidentBytes: process.resourceUsage().maxRSS * 1024,
      soundnessBits: rounded(verified.soundnessBits),
      soundnessSumBits: rounded(verified.soundnessSumBits),
      soundnessRounds: verified.soundnessRounds.map((term) => ({ ...term, bits: rounded(term.bits) })),
      phases: watch.seconds(),
    };
    return { made, verified, figures };
  };
  try {
    return await work({ backend: new KernelBackend(engine), enter: watch.enter, prove });
  } finally {
    await engine.close();
  }
}
