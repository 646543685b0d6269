/** The one computing process of a node: kept from segment to segment of a job, replaced when another job comes. */
import type { ProverRelease } from '#libs/node';
import type { Limits } from '../compute/job.js';
import { ended, openCompute, type Compute } from './compute.js';
import type { OpenedInput } from './kept-witness.js';

export interface JobProcess {
  /**
   * The process that holds this job with its data; opens them where there is none.
   * @throws CollateralError PROVER_ENDED where it is cleared meanwhile
   */
  at(jobId: string, open: () => Promise<OpenedInput>): Promise<Compute>;
  /** What was logged of the key that it holds. */
  logged(): ProverRelease['logged'];
  /** Ends the process, whatever it does. */
  clear(): void;
}

export function createJobProcess({ threads, memoryMiB, groth16Keys }: Limits): JobProcess {
  const limits = { threads, memoryMiB, groth16Keys };
  let current: Compute | null = null;
  let logged: ProverRelease['logged'];
  let cleared = 0;
  const clear = (): void => {
    cleared += 1;
    current?.kill();
    current = null;
  };
  return {
    async at(jobId, open) {
      if (current?.jobId === jobId && current.isAlive()) return current;
      clear();
      const begun = cleared;
      const { input, logged: entry } = await open();
      // What was given up while key and data came is not begun; the process that opened meanwhile is nobody's.
      if (cleared !== begun) throw ended('given up before it was opened');
      logged = entry;
      const opened = await openCompute(jobId, input, limits);
      if (cleared !== begun) {
        opened.kill();
        throw ended('given up while it was opened');
      }
      current = opened;
      return opened;
    },
    logged: () => logged,
    clear,
  };
}
