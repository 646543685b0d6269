/** Terms of settlement §5 as far as the control plane acts on them. */
import { jobDigest, JobMode, parseTermsJson, toHex } from '#attestation';

export interface EscrowTerms {
  /** Digest of the terms: the job's identity on chain, 0x-hexadecimal. */
  readonly escrowId: string;
  readonly specDigest: string;
  readonly policy: string;
  /** Account that may accept, or the zero address. */
  readonly provider: string;
  readonly segments: number;
  /** Segments that are drawn to be proved, after the run is committed; 0: no sample. */
  readonly samples: number;
  /** Smallest unit of the token. */
  readonly price: bigint;
  /** Unix seconds. */
  readonly acceptBy: number;
  /** Unix seconds: the last moment at which a run can be committed. */
  readonly commitBy: number;
}

/** @throws Rejection TERMS_FIELD */
export function readTerms(json: unknown): EscrowTerms {
  const terms = parseTermsJson(json);
  const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
  return {
    escrowId: hex(jobDigest(terms)),
    specDigest: hex(terms.specDigest),
    policy: hex(terms.policy),
    provider: hex(terms.provider),
    segments: terms.segments,
    samples: (terms.mode & JobMode.sample) === 0 ? 0 : terms.samples,
    price: terms.price,
    acceptBy: terms.acceptBy,
    commitBy: terms.acceptBy + terms.windows.start + terms.windows.compute,
  };
}
