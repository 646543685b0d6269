/** Samples of real evidence: one manifest entry, its files, its folder's anchors; the verdict and the reasons. */
import { neutralPolicy } from '../appraisal/policy.js';
import type { AppraisalPolicy } from '../appraisal/policy.js';
import { fromUtf8 } from '../base/bytes.js';
import type { Check, Tier } from '../check/checks.js';
import type { Authenticity } from '../check/verified.js';
import type { NrasKey } from '../nvidia/nras.js';

export interface SampleEntry {
  readonly id: string;
  /** Role in the manifest (`report`, `leaf`, `quote`, `driverRim` …) to file bytes. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Name of each file without its folder to file bytes: what other files of the sample refer to. */
  readonly named?: ReadonlyMap<string, Uint8Array>;
  /**
   * PEM certificates of the folder's `anchors/`: the only endorsements besides the files.
   * None at all: the vendors' roots as pinned in the code, for evidence that brings its chain along.
   */
  readonly anchors: readonly string[];
  /** Unix seconds, from `expect.at`. */
  readonly at: number;
}

export interface SampleVerdict {
  /** Signatures, chain, identity links and strict encoding all hold at `at`. */
  readonly authentic: boolean;
  /** Tells what is forged from what could not be decided. */
  readonly authenticity: Authenticity;
  /** Under the neutral policy; absent for material that is no evidence by itself (bare reference values, tokens). */
  readonly appraisal: Tier | null;
  readonly checks: readonly Check[];
}

/** Judges one entry of its vendor's folder. Decides by the files an entry has, never by its name. */
export type SampleRunner = (entry: SampleEntry) => Promise<SampleVerdict>;

/** Keys of NVIDIA's service that a sample brings; none where it brings none. */
export function serviceKeys({ files }: SampleEntry): readonly NrasKey[] {
  const keys = files.get('jwksRecovered') ?? files.get('jwks');
  return keys === undefined ? [] : (JSON.parse(fromUtf8(keys)) as { keys: NrasKey[] }).keys;
}

/** The neutral policy, and nothing said of revocation: folders of samples hold no lists. */
export const samplePolicy: AppraisalPolicy = {
  ...neutralPolicy,
  id: 'veritrain:samples',
  snp: { ...neutralPolicy.snp, revocation: 'not-demanded' },
};

/** The vendor's pin, unless a folder brings anchors and this root is not among them. */
export function pinOf(pin: string, anchors: readonly { readonly spkiSha256: string }[]): readonly string[] {
  return anchors.length === 0 || anchors.some(({ spkiSha256 }) => spkiSha256 === pin) ? [pin] : [];
}

/** A verdict over checks of several verifiers: forged outweighs undecided. */
export function verdictOf(authenticity: Authenticity, appraisal: Tier | null, checks: readonly Check[]): SampleVerdict {
  return { authentic: authenticity === 'authentic', authenticity, appraisal, checks };
}
