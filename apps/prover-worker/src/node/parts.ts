/** What a node is made of, for everything that it does. */
import type { CipherStore, ControlPlane } from '#libs/node';
import type { NodeWatch } from '#libs/telemetry';
import type { JobProcess } from './job-process.js';
import type { Escrow } from './escrow.js';
import type { KeptJobs } from './kept-jobs.js';
import type { KeptWitness } from './kept-witness.js';
import type { ProverSettings } from './settings.js';

export interface NodeParts {
  readonly settings: ProverSettings;
  readonly nodeId: string;
  /** A claim or lease that is not prolonged for so long is lost. */
  readonly leaseSeconds: number;
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  readonly escrow: Escrow;
  readonly kept: KeptJobs;
  readonly witness: KeptWitness;
  readonly jobProcess: JobProcess;
  readonly watch: NodeWatch;
}
