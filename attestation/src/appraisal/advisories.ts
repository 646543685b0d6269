/**
 * Advisories: who says since when that a product, a firmware, a chip or an issuer is not to be relied on, as a dated
 * document that can be signed (attestation/SPEC.md §6.7). They are an argument of the appraisal, as the time is, so
 * that the same evidence can be judged as of before and after.
 */
import { Rejection } from '../base/errors.js';
import { readDocument, readDocumentText, signDocument, verifyDocument } from '../check/document.js';
import { hex, integer, list, object, oneOf, optional, text } from '../check/schema.js';
import type { Described } from '../check/schema.js';
import { snpProducts } from '../snp/product.js';

const svn = optional(integer(0, 255));

/** All that a selector names must fit; what it leaves out fits everything. */
const selectorFields = {
  /** Milan, Genoa, Turin; `FMSPC:` and 12 hexadecimal digits for an Intel platform; a GPU’s chip, such as GH100. */
  product: optional(text(64)),
  /** SNP firmware: any component of REPORTED_TCB below this. */
  below: optional(object({ fmc: svn, bootLoader: svn, tee: svn, snp: svn, microcode: svn })),
  /** SNP firmware: bits that are not set in both mitigation vectors, hexadecimal. */
  mitigationsMissing: optional(hex(8)),
  /** GPU firmware: driver or VBIOS versions. */
  versions: optional(list(text(32), 100)),
  /** SNP chip id, PPID or GPU device id, as results name them. */
  chip: optional(text(128)),
  /** SHA-256 of the SubjectPublicKeyInfo of a certificate above the leaf. */
  issuer: optional(hex(32)),
};
export type AdvisorySelector = Described<typeof selectorFields>;

const advisoryFields = {
  /** For example AMD-SB-3034. */
  id: text(64),
  title: text(),
  /** Where it can be read. */
  source: text(512),
  /** Who says so: the vendor, a reviewed publication, or one that nobody has reviewed. */
  standing: oneOf('vendor', 'reviewed', 'preprint'),
  severity: oneOf('low', 'medium', 'high', 'critical'),
  note: optional(text(1024)),
  /** Unix seconds; it counts for appraisals as of this time and later. */
  since: integer(),
  /** `refuse`: not to be relied on. A product or firmware passes with a warning on a chip that the policy lists. */
  effect: oneOf('refuse', 'warn'),
  condemns: list(object(selectorFields), 1000),
};
export type Advisory = Described<typeof advisoryFields>;

const documentFields = {
  version: oneOf(1),
  id: text(),
  /** Unix seconds; of several documents with one id the newest counts. */
  issued: integer(),
  advisories: list(object(advisoryFields), 1000),
};
const advisoriesNode = object(documentFields);
export type Advisories = Described<typeof documentFields>;

const policyFields = {
  demand: oneOf('required', 'if-supplied'),
  /** How old the newest document may be at the verification time, seconds. */
  ageSecondsMax: optional(integer(1)),
  /** Ed25519 keys whose signed documents count, hexadecimal. */
  signers: optional(list(hex(32), 16)),
};
export const advisoryPolicyNode = object(policyFields);
export type AdvisoryPolicy = Described<typeof policyFields>;

export const advisoriesContentType = 'application/veritrain-advisories+cbor';

/** @throws Rejection DOCUMENT_* */
export function parseAdvisories(json: string): Advisories {
  return checkAdvisories(readDocumentText(advisoriesNode, json));
}

/** The document in its deterministic encoding. @throws Rejection CBOR_*, DOCUMENT_* */
export function decodeAdvisories(encoded: Uint8Array): Advisories {
  return checkAdvisories(readDocument(advisoriesNode, encoded));
}

export function signAdvisories(
  advisories: Advisories,
  keyId: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signDocument(checkAdvisories(advisories), advisoriesContentType, keyId, sign);
}

/** @param publicKey  Ed25519, 32 bytes @throws Rejection COSE_*, CBOR_*, DOCUMENT_* */
export async function verifyAdvisories(bytes: Uint8Array, publicKey: Uint8Array): Promise<Advisories> {
  return checkAdvisories(await verifyDocument(advisoriesNode, bytes, advisoriesContentType, publicKey));
}

/** A selector that names nothing would condemn everything; component numbers mean nothing without their product. */
function checkAdvisories(document: Advisories): Advisories {
  for (const { id, condemns } of document.advisories) {
    for (const selector of condemns) {
      const { product, below, mitigationsMissing } = selector;
      const isSnp = (snpProducts as readonly (string | undefined)[]).includes(product);
      if (Object.keys(selector).length === 0) refuse(id, 'at least one field in every selector', 'none');
      if ((below !== undefined || mitigationsMissing !== undefined) && !isSnp)
        refuse(id, 'an SNP product beside below and mitigationsMissing', product ?? 'none');
    }
  }
  return document;
}

function refuse(id: string, expected: string, got: string): never {
  throw new Rejection('DOCUMENT_SHAPE', { expected: `${expected} of ${id}`, got, rule: 'attestation/SPEC.md §6.7' });
}
