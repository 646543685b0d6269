/** What was logged of a job, as a verdict shows it. */
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
