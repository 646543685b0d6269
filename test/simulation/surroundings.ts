/** What nodes and clients of a simulation see of it. */
import type { SimulatedChain } from './chain.js';
import type { Faults } from './faults.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';
import type { Store } from './store.js';
import type { Endpoint, Transport } from './transport.js';
import type { SimulatedJob } from './work.js';

/** What the control plane said yes to. */
export interface Acknowledged {
  readonly submissions: string[];
  readonly cancellations: string[];
  readonly checkpoints: (Signed & { readonly jobId: string; readonly step: number; readonly fence: number })[];
  readonly partials: (Signed & { readonly jobId: string; readonly index: number; readonly blob: string })[];
  readonly proofs: { readonly jobId: string; readonly index: number }[];
  readonly deliveries: (Signed & { readonly jobId: string; readonly blob: string })[];
}

/** When the enclave signed it, and how long its attestation lasted by the broker's word; unix seconds. */
export interface Signed {
  readonly signedAt: number;
  readonly attestedUntil: number;
}

export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: Faults;
  readonly chain: SimulatedChain;
  readonly transport: Transport;
  readonly store: Store;
  /** Stored ciphertexts by name. */
  readonly blobs: Map<string, Uint8Array>;
  readonly jobs: ReadonlyMap<string, SimulatedJob>;
  readonly acknowledged: Acknowledged;
  readonly isOver: boolean;
  /** Any one of the control plane's replicas. */
  replica(): Endpoint;
}
