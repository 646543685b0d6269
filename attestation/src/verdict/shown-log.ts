/** What a verdict is asked of a log, and what was logged of a job, as it shows it. */
import type { AttestationResult } from '../appraisal/appraise.js';
import type { LogExport, TrustPolicy } from '../log/index.js';

export interface LogAsked {
  /** The logs and witnesses of the reader; where it names any, it demands that the job is logged. */
  readonly trust: TrustPolicy | undefined;
  /** What was revoked in a newer log. */
  readonly logExport: LogExport | undefined;
  /** Of the sessions. */
  readonly results: readonly AttestationResult[];
}

export interface ShownLog {
  readonly origins: readonly string[];
  readonly entries: readonly {
    readonly kind: string;
    readonly issuer: string;
    readonly index: number;
    /** Unix seconds, the issuer's word. */
    readonly at: number;
    /** Unix seconds by which a quorum of the reader's had seen it; null: none had, or the reader named none. */
    readonly witnessedAt: number | null;
  }[];
  /** Places in the bundle of entries whose checkpoint has signatures that no key of the reader's is for: nobody looked at those. */
  readonly unchecked: readonly number[];
  /** Organisations of the trust policy other than the log's own that saw every checkpoint. */
  readonly independent: readonly string[];
}
