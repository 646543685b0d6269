/** What the node and its computing process say to each other, over the process's channel with structured clones. */
import type { ProverPhase } from '#libs/zk';
import type { JobInput, Limits } from './job.js';
import type { ProofRequest } from './prove.js';
import type { Proved } from './system.js';
import type { Border, Trained } from './train.js';

export type ComputeRequest =
  | { readonly type: 'open'; readonly job: JobInput; readonly limits: Limits }
  | { readonly type: 'train'; readonly checkpoint: Uint8Array | null }
  | { readonly type: 'prove'; readonly request: ProofRequest };

export type ComputeEvent =
  | { readonly type: 'opened'; readonly segments: number }
  | { readonly type: 'border'; readonly border: Border }
  | { readonly type: 'trained'; readonly trained: Trained }
  | { readonly type: 'phase'; readonly phase: ProverPhase }
  | { readonly type: 'proved'; readonly proved: Proved; readonly peakBytes: number }
  | { readonly type: 'failed'; readonly failure: Readonly<Record<string, unknown>> };
