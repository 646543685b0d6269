/** Evidence of sessions under the policy of their job, and the bundle that a verifier reads. */
import { Module } from '@nestjs/common';
import { ClaimsModule } from '../claims/claims.module.js';
import { Appraisals } from './appraisals.js';
import { BundleAssembly } from './bundle-assembly.js';
import { LogEntries } from './log-entries.js';
import { LogSender } from './log-sender.js';
import { SessionJudge } from './session-judge.js';

@Module({
  imports: [ClaimsModule],
  providers: [Appraisals, BundleAssembly, LogEntries, LogSender, SessionJudge],
  exports: [Appraisals, BundleAssembly, LogEntries, SessionJudge],
})
export class EvidenceModule {}
