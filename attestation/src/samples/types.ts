/** Samples of real evidence: one manifest entry, its files, its folder's anchors; the verdict and the reasons. */
import type { Check, Tier } from '../appraisal/checks.js';

export interface SampleEntry {
  readonly id: string;
  /** Role in the manifest (`report`, `leaf`, `quote`, `driverRim` …) to file bytes. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** PEM certificates of the folder's `anchors/`: the only endorsements besides the files. */
  readonly anchors: readonly string[];
  /** Unix seconds, from `expect.at`. */
  readonly at: number;
}

export interface SampleVerdict {
  /** Signatures, chain, identity links and strict encoding all hold at `at`. */
  readonly authentic: boolean;
  /** Under the neutral policy; absent for material that is no evidence by itself (bare reference values, tokens). */
  readonly appraisal: Tier | null;
  readonly checks: readonly Check[];
}

/** Judges one entry of its vendor's folder. Decides by the files an entry has, never by its name. */
export type SampleRunner = (entry: SampleEntry) => Promise<SampleVerdict>;
