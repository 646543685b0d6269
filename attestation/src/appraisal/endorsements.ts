/** The endorsements that travel with a verdict, in the form that is appraised. */
import { fromUtf8 } from '../base/bytes.js';
import { parseCollateralBundle } from '../intel/collateral.js';
import type { EndorsementRecord } from '../records/endorsement-record.js';
import { noEndorsements, type Endorsements } from './evidence.js';

/**
 * The record in the form that `appraise` takes, with the collateral of the first platform.
 * @throws Rejection QUOTE_COLLATERAL_FORMAT, MESSAGE_SHAPE, BYTES_* where Intel's part cannot be read
 */
export function endorsementsOfRecord(endorsements: EndorsementRecord): Endorsements {
  const { certificates, crls, ocsp, rims, intel, advisories } = endorsements;
  const platform = intel[0] === undefined ? undefined : parseCollateralBundle(fromUtf8(intel[0]));
  return {
    ...noEndorsements,
    certificates,
    crls: [...crls, ...(platform?.crls ?? [])],
    rims,
    advisories,
    ocspAnswers: ocsp.map((response) => ({ response })),
    ...(platform && { collateral: platform.collateral }),
  };
}
