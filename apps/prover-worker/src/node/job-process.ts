/** The one computing process of a node: kept from segment to segment of a job, replaced when another job comes. */
import type { CipherStore, ProverRelease } from '#libs/node';
import type { Limits } from '../compute/job.js';
import { ended, openCompute, type Compute } from './compute.js';
import { entrust, inputOf, type EntrustedJob, type OfferedJob } from './offered-job.js';
import type { ProverSettings } from './settings.js';

export interface JobProcess {
  /**
   * The process that holds this job with its data; asks for key and shards where there is none.
   * @throws CollateralError PROVER_ENDED where it is cleared meanwhile
   */
  at(offer: OfferedJob, settings: ProverSettings, store: CipherStore, job?: EntrustedJob): Promise<Compute>;
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
    async at(offer, settings, store, job) {
      if (current?.jobId === offer.jobId && current.isAlive()) return current;
      clear();
      const begun = cleared;
      const entrusted = job ?? (await entrust(offer, settings));
      ({ logged } = entrusted.release);
      const input = await inputOf(entrusted, store, settings.hostRoot);
      // What was given up while keys and shards came is not begun; the process that opened meanwhile is nobody's.
      if (cleared !== begun) throw ended('given up before it was opened');
      const opened = await openCompute(offer.jobId, input, limits);
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
