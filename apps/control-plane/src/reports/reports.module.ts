/** What nodes report of the work they hold: sessions, renewals, segments, proofs, deliveries. */
import { Module } from '@nestjs/common';
import { verifyBundledProofUnder } from '#libs/proof';
import { ClaimsModule } from '../claims/claims.module.js';
import { PROOF_VERIFIER } from '../core/config/tokens.js';
import { EvidenceModule } from '../evidence/evidence.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { NodesModule } from '../nodes/nodes.module.js';
import { LeaseRestores } from './lease-restore.js';
import { ProofReports } from './proof-reports.js';
import { RenewalReports } from './renewal-reports.js';
import { SegmentReports } from './segment-reports.js';
import { SessionReports } from './session-reports.js';
import { TrainingReports } from './training-reports.js';
import { WorkerRenewals } from './worker-renewals.js';

@Module({
  imports: [ClaimsModule, EvidenceModule, JobsModule, NodesModule],
  providers: [
    // The spec names one Groth16 key: how it was made is for those to judge who rely on it, client, contract and readers.
    { provide: PROOF_VERIFIER, useValue: verifyBundledProofUnder({ takesDevelopmentKeys: true }) },
    LeaseRestores,
    ProofReports,
    RenewalReports,
    SegmentReports,
    SessionReports,
    TrainingReports,
    WorkerRenewals,
  ],
  exports: [
    LeaseRestores,
    ProofReports,
    RenewalReports,
    SegmentReports,
    SessionReports,
    TrainingReports,
    WorkerRenewals,
  ],
})
export class ReportsModule {}
