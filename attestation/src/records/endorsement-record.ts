/**
 * The endorsements that a verdict rested on, as they travel with it and stand in a bundle: whoever appraises the same
 * evidence later does so with the same material. Nothing in it is believed before it is used.
 */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import {
  advisoryBytesMax,
  certificateBytesMax,
  collateralBundleMax,
  crlBytesMax,
  endorsementRecordBytesMax,
  ocspBytesMax,
  poolCertificatesMax,
  rimBytesMax,
} from '../base/limits.js';
import { bytesUpTo, checkLength, list, record, toCbor, type Shaped } from '../base/shape.js';
import { sessionsMax } from './bundle-parts.js';

/** Pieces of each kind that one verdict may rest on. */
export const endorsementsMost = {
  certificates: poolCertificatesMax,
  crls: 16,
  ocsp: 32,
  rims: 8,
  intel: 1,
  advisories: 16,
} as const;

/** What each list holds. @param times how many verdicts' pieces */
const listsOf = (times: number) => ({
  /** X.509, DER, beyond those that came with the evidence. */
  certificates: list(bytesUpTo(certificateBytesMax), times * endorsementsMost.certificates),
  /** DER. */
  crls: list(bytesUpTo(crlBytesMax), times * endorsementsMost.crls),
  /** OCSP responses, DER. */
  ocsp: list(bytesUpTo(ocspBytesMax), times * endorsementsMost.ocsp),
  /** NVIDIA reference manifests, XML. */
  rims: list(bytesUpTo(rimBytesMax), times * endorsementsMost.rims),
  /** Intel's collateral, the JSON file of `parseCollateralBundle` of each platform. */
  intel: list(bytesUpTo(collateralBundleMax), times * endorsementsMost.intel),
  /** Signed advisories with their dates. */
  advisories: list(bytesUpTo(advisoryBytesMax), times * endorsementsMost.advisories),
});

const endorsementLists = listsOf(1);

/** Of a bundle: each of its sessions was judged with pieces of its day. */
export const bundledEndorsementLists = listsOf(sessionsMax);

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
