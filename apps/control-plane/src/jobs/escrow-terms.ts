/** Terms of contracts/SPEC.md §5 as far as the control plane acts on them. */
import { keccak, to0x } from '#attestation/base';
import {
  encodeFormerTerms,
  escrowIdOf,
  isFormerJson,
  JobMode,
  parseFormerTermsJson,
  parseTermsJson,
  type Terms,
} from '#attestation/records';

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

/** @throws Rejection TERMS_FIELD, TERMS_VERSION */
export function readTerms(json: unknown): EscrowTerms {
  const terms = parseTermsJson(json);
  return pickedFrom(terms, escrowIdOf(terms));
}

/** Of a stored job, which may have been ordered under terms of the former layout. @throws Rejection TERMS_FIELD */
export function readStoredTerms(json: unknown): EscrowTerms {
  if (!isFormerJson(json)) return readTerms(json);
  const terms = parseFormerTermsJson(json);
  return pickedFrom(terms, keccak(encodeFormerTerms(terms)));
}

type Picked = Pick<
  Terms,
  'specDigest' | 'policy' | 'provider' | 'segments' | 'samples' | 'price' | 'mode' | 'acceptBy'
> & {
  readonly windows: Pick<Terms['windows'], 'start' | 'compute'>;
};

function pickedFrom(terms: Picked, escrowId: Uint8Array): EscrowTerms {
  return {
    escrowId: to0x(escrowId),
    specDigest: to0x(terms.specDigest),
    policy: to0x(terms.policy),
    provider: to0x(terms.provider),
    segments: terms.segments,
    samples: (terms.mode & JobMode.sample) === 0 ? 0 : terms.samples,
    price: terms.price,
    acceptBy: terms.acceptBy,
    commitBy: terms.acceptBy + terms.windows.start + terms.windows.compute,
  };
}
