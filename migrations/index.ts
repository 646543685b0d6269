/** Every migration, oldest first. A released migration never changes. */
import type { MigrationInterface } from 'typeorm';
import { Initial1763722800000 } from './1763722800000-initial.js';
import { KeyProvider1763730000000 } from './1763730000000-key-provider.js';
import { Webhooks1763740000000 } from './1763740000000-webhooks.js';
import { SegmentProofs1763750000000 } from './1763750000000-segment-proofs.js';
import { Scheduling1763770000000 } from './1763770000000-scheduling.js';
import { Renewals1763785000000 } from './1763785000000-renewals.js';
import { DataParallel1763790000000 } from './1763790000000-data-parallel.js';
import { QueueClasses1763795000000 } from './1763795000000-queue-classes.js';
import { DeadLetters1763800000000 } from './1763800000000-dead-letters.js';
import { WorkerRenewals1763805000000 } from './1763805000000-worker-renewals.js';
import { Abuse1763810000000 } from './1763810000000-abuse.js';
import { Endorsements1763815000000 } from './1763815000000-endorsements.js';
import { StartWeights1763820000000 } from './1763820000000-start-weights.js';
import { ConsoleSessions1763825000000 } from './1763825000000-console-sessions.js';
import { LogOutbox1763830000000 } from './1763830000000-log-outbox.js';
import { TenantLimits1763840000000 } from './1763840000000-tenant-limits.js';
import { KeyScopes1763845000000 } from './1763845000000-key-scopes.js';
import { NodePreflights1763850000000 } from './1763850000000-node-preflights.js';
import { ProverKeys1763855000000 } from './1763855000000-prover-keys.js';
import { LeaseNode1763860000000 } from './1763860000000-lease-node.js';
import { ClaimedAt1763865000000 } from './1763865000000-claimed-at.js';

export const migrations: (new () => MigrationInterface)[] = [
  Initial1763722800000,
  KeyProvider1763730000000,
  Webhooks1763740000000,
  SegmentProofs1763750000000,
  Scheduling1763770000000,
  Renewals1763785000000,
  DataParallel1763790000000,
  QueueClasses1763795000000,
  DeadLetters1763800000000,
  WorkerRenewals1763805000000,
  Abuse1763810000000,
  Endorsements1763815000000,
  StartWeights1763820000000,
  ConsoleSessions1763825000000,
  LogOutbox1763830000000,
  TenantLimits1763840000000,
  KeyScopes1763845000000,
  NodePreflights1763850000000,
  ProverKeys1763855000000,
  LeaseNode1763860000000,
  ClaimedAt1763865000000,
];
