/** Who may work on what until when: leases of jobs, claims of segments and of proofs. */
import { Module } from '@nestjs/common';
import { DataModule } from '../data/data.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { NodesModule } from '../nodes/nodes.module.js';
import { Assignment } from './assignment.js';
import { ClaimStore } from './claim-store.js';
import { Heartbeats } from './heartbeats.js';
import { LeaseStore } from './lease-store.js';
import { ProofStore } from './proof-store.js';
import { SegmentAssignment } from './segment-assignment.js';
import { SegmentStore } from './segment-store.js';
import { Sweeper } from './sweeper.js';
import { WaitingNodes } from './waiting-nodes.js';

@Module({
  imports: [DataModule, JobsModule, NodesModule],
  providers: [
    Assignment,
    ClaimStore,
    Heartbeats,
    LeaseStore,
    ProofStore,
    SegmentAssignment,
    SegmentStore,
    Sweeper,
    WaitingNodes,
  ],
  exports: [Assignment, ClaimStore, Heartbeats, LeaseStore, ProofStore, SegmentAssignment, SegmentStore],
})
export class ClaimsModule {}
