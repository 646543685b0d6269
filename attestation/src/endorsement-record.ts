/**
 * The endorsements that a verdict rested on, as they travel with it and stand in a bundle: whoever appraises the same
 * evidence later does so with the same material. Nothing in it is believed before it is used.
 */
import { noEndorsements, type Endorsements } from './appraisal/evidence.js';
import { fromUtf8 } from './bytes.js';
import { decodeCanonical, encodeCanonical } from './cbor.js';
import { parseCollateralBundle } from './intel/collateral.js';
import { collateralBundleMax } from './intel/limits.js';
import {
  advisoryBytesMax,
  certificateBytesMax,
  crlBytesMax,
  endorsementRecordBytesMax,
  ocspBytesMax,
  poolCertificatesMax,
} from './limits.js';
import { rimBytesMax } from './nvidia/constants.js';
import { bytesUpTo, checkLength, list, record, toCbor, type Shaped } from './shape.js';

/** What each list holds, and the most of it. */
export const endorsementLists = {
  /** X.509, DER, beyond those that came with the evidence. */
  certificates: list(bytesUpTo(certificateBytesMax), poolCertificatesMax),
  /** DER. */
  crls: list(bytesUpTo(crlBytesMax), 16),
  /** OCSP responses, DER. */
  ocsp: list(bytesUpTo(ocspBytesMax), 32),
  /** NVIDIA reference manifests, XML. */
  rims: list(bytesUpTo(rimBytesMax), 8),
  /** Intel's collateral, the JSON file of `parseCollateralBundle` of each platform. */
  intel: list(bytesUpTo(collateralBundleMax), 16),
  /** Signed advisories with their dates. */
  advisories: list(bytesUpTo(advisoryBytesMax), 16),
};

export type EndorsementRecord = Shaped<typeof endorsementLists>;

export const noEndorsementRecord: EndorsementRecord = {
  certificates: [],
  crls: [],
  ocsp: [],
  rims: [],
  intel: [],
  advisories: [],
};

/** @throws Rejection MESSAGE_SHAPE, MESSAGE_SIZE: what nobody could read is not written */
export function encodeEndorsements(endorsements: EndorsementRecord): Uint8Array {
  const cbor = toCbor(endorsements);
  record(endorsementLists)(cbor, 'endorsements');
  const encoded = encodeCanonical(cbor);
  checkLength('endorsements', encoded, endorsementRecordBytesMax);
  return encoded;
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseEndorsements(encoded: Uint8Array): EndorsementRecord {
  checkLength('endorsements', encoded, endorsementRecordBytesMax);
  return record(endorsementLists)(decodeCanonical(encoded), 'endorsements');
}

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
