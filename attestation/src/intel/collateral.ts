/**
 * Intel's collateral for a quote: signed TCB info and QE identity, and revocation lists. What cannot be authenticated is
 * a Rejection; what is genuine but absent, out of its dates or about another platform is a CollateralError.
 * Source: attestation/EVIDENCE.md §5.2 rules 3 and 4.
 */
import { equalBytes, fromHex, toHex, utf8 } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { crlBytesMax, pemBytesMax, collateralBundleMax } from '../base/limits.js';
import { readPem, writePem } from '../base/pem.js';
import { text } from '../base/shape.js';
import { verifySignature } from '../base/signatures.js';
import { parsePemCertificates, type Certificate } from '../x509/certificate.js';
import { parseCrl, revocationOf, verifyCrl, type Crl, type RevocationState } from '../x509/crl.js';
import { verifyPath } from '../x509/path.js';
import { collateralTextMax } from './limits.js';
import type { PckIdentity } from './pck.js';
import { object, parseJson, parseQeIdentity, parseTcbInfo, type QeIdentity, type TcbInfo } from './tcb-info.js';

export interface SignedDocument {
  /** Exactly the bytes that Intel signed, as text. */
  readonly json: string;
  /** ECDSA P-256, r‖s. */
  readonly signature: Uint8Array;
  /** PEM: TCB signing certificate, root. */
  readonly chain?: string;
}

export interface QuoteCollateral {
  readonly tcbInfo?: SignedDocument;
  readonly qeIdentity?: SignedDocument;
}

export interface Trust {
  /** Unix seconds. */
  readonly at: number;
  /** SHA-256 of the SubjectPublicKeyInfo of accepted roots, hexadecimal. */
  readonly pins: ReadonlySet<string>;
}

const responsePattern = /^\{"(tcbInfo|enclaveIdentity)":(\{.*\}),"signature":"([0-9a-f]{128})"\}\s*$/s;

/**
 * Splits the body of a PCS answer without re-encoding the signed text.
 * @throws Rejection QUOTE_COLLATERAL_FORMAT
 */
export function readPcsResponse(body: string, chain?: string): SignedDocument {
  const match = body.length <= collateralTextMax ? responsePattern.exec(body) : null;
  if (match === null) {
    const expected = 'an object of tcbInfo or enclaveIdentity, and signature';
    throw new Rejection('QUOTE_COLLATERAL_FORMAT', {
      expected,
      got: body.slice(0, 40),
      rule: 'Intel PCS API version 4',
    });
  }
  return { json: match[2]!, signature: fromHex(match[3]!), ...(chain !== undefined && { chain }) };
}

const bundleShape = {
  root_ca_crl: text(2 * crlBytesMax),
  pck_crl: text(2 * crlBytesMax),
  tcb_info_issuer_chain: text(pemBytesMax),
  tcb_info: text(collateralTextMax),
  tcb_info_signature: text(128),
  qe_identity_issuer_chain: text(pemBytesMax),
  qe_identity: text(collateralTextMax),
  qe_identity_signature: text(128),
};

/** Of one spelling, Intel's: a file whose bytes differ is then another file to the judge as well. @throws Rejection BYTES_HEX */
function fromLowerHex(digits: string): Uint8Array {
  if (/^[0-9a-f]*$/.test(digits)) return fromHex(digits);
  const got = digits.replace(/^[0-9a-f]+/, '').slice(0, 8);
  throw new Rejection('BYTES_HEX', {
    expected: 'lower-case hexadecimal digits alone, as Intel writes them',
    got,
    rule: 'attestation/SPEC.md §1',
  });
}

/**
 * Reads the JSON file in which tools exchange all collateral of one platform; CRLs and signatures are hexadecimal.
 * The chain of the PCK list in it has no weight: the quote's own verified chain says who may sign that list.
 *
 * @throws Rejection QUOTE_COLLATERAL_FORMAT, MESSAGE_SHAPE, BYTES_HEX
 */
export function parseCollateralBundle(json: string): { collateral: QuoteCollateral; crls: readonly Uint8Array[] } {
  const bundle = object(bundleShape)(parseJson(json, collateralBundleMax), 'collateral');
  const document = (name: 'tcb_info' | 'qe_identity'): SignedDocument => ({
    json: bundle[name],
    signature: fromLowerHex(bundle[`${name}_signature`]),
    chain: bundle[`${name}_issuer_chain`],
  });
  return {
    collateral: { tcbInfo: document('tcb_info'), qeIdentity: document('qe_identity') },
    crls: [fromLowerHex(bundle.root_ca_crl), fromLowerHex(bundle.pck_crl)],
  };
}

/** The same file in its one spelling: the members that are read, in this order, without white space. @throws as its reader */
export function spellCollateralBundle(json: string): string {
  const bundle = object(bundleShape)(parseJson(json, collateralBundleMax), 'collateral');
  const chain = (pem: string): string => readPem(pem).map(writePem).join('');
  return JSON.stringify({
    ...bundle,
    tcb_info_issuer_chain: chain(bundle.tcb_info_issuer_chain),
    qe_identity_issuer_chain: chain(bundle.qe_identity_issuer_chain),
  });
}

/** TCB info for this platform with the certificate that signed it. @throws Rejection, CollateralError */
export async function readTcbInfo(
  document: SignedDocument | undefined,
  tee: 'SGX' | 'TDX',
  pck: PckIdentity,
  trust: Trust,
): Promise<{ document: TcbInfo; signer: Certificate }> {
  const signer = await authenticate('QUOTE_TCB_INFO', document, trust);
  const info = parseTcbInfo(document!.json);
  const wanted = `${tee} ${toHex(pck.fmspc)} ${toHex(pck.pceId)}`;
  const given = `${info.id} ${toHex(info.fmspc)} ${toHex(info.pceId)}`;
  if (wanted !== given) missing('QUOTE_TCB_INFO_OTHER_PLATFORM', `TCB info of ${wanted}`, given);
  checkDates('QUOTE_TCB_INFO', info, trust.at);
  return { document: info, signer };
}

/** Identity of the quoting enclave with the certificate that signed it. @throws Rejection, CollateralError */
export async function readQeIdentity(
  document: SignedDocument | undefined,
  tee: 'SGX' | 'TDX',
  trust: Trust,
): Promise<{ document: QeIdentity; signer: Certificate }> {
  const signer = await authenticate('QUOTE_QE_IDENTITY', document, trust);
  const identity = parseQeIdentity(document!.json);
  const wanted = tee === 'TDX' ? 'TD_QE' : 'QE';
  if (identity.id !== wanted) missing('QUOTE_QE_IDENTITY_OTHER_ENCLAVE', wanted, identity.id);
  checkDates('QUOTE_QE_IDENTITY', identity, trust.at);
  return { document: identity, signer };
}

/**
 * The signer must be issued by the root itself and be no CA: a PCK key must not pass for it. Nothing else may stand beside
 * the two, since nobody would look at it.
 */
async function authenticate(code: string, document: SignedDocument | undefined, trust: Trust): Promise<Certificate> {
  if (document === undefined) return missing(`${code}_MISSING`, 'the signed document', 'none');
  if (document.chain === undefined) return missing(`${code}_CHAIN_MISSING`, 'the chain of its signer', 'none');
  const [leaf, ...pool] = parsePemCertificates(document.chain) as [Certificate, ...Certificate[]];
  const path = await verifyPath({ leaf, pool, rootSpkiSha256: trust.pins, at: trust.at }).catch(expiredAsMissing);
  if (path.certificates.length !== 2 || pool.length !== 1) {
    const got = `a path of ${path.certificates.length} among ${pool.length + 1} certificates`;
    reject(`${code}_SIGNER`, 'a signer, the root that issued it and nothing else', got);
  }
  await verifySignature('ecdsa-p256-sha256', leaf.spki, document.signature, utf8(document.json)).catch(
    (error: unknown) => {
      if (!(error instanceof Rejection)) throw error;
      reject(`${code}_SIGNATURE`, `a signature by ${leaf.subjectText}`, error.code);
    },
  );
  return leaf;
}

function expiredAsMissing(error: unknown): never {
  const dated = error instanceof Rejection && /^X509_PATH_(EXPIRED|NOT_YET)$/.test(error.code);
  throw dated ? new CollateralError(error.code, error.detail) : error;
}

function checkDates(code: string, window: { issueDate: number; nextUpdate: number }, at: number): void {
  if (at < window.issueDate) missing(`${code}_NOT_YET`, `issued at or before ${at}`, `${window.issueDate}`);
  if (at >= window.nextUpdate) missing(`${code}_EXPIRED`, `next update after ${at}`, `${window.nextUpdate}`);
}

export interface Revocation {
  /** The worst state of any certificate. */
  readonly state: RevocationState;
  /** The lists of the issuers in question. */
  readonly lists: readonly Crl[];
  /** Unix seconds until which every certificate that is good has a current list. */
  readonly notAfter: number;
}

/**
 * Looks every certificate up in the lists of its issuer; `unknown` where none was supplied. A revocation counts wherever
 * it is found; otherwise one current list suffices.
 * @param crls      DER; lists of other issuers have no weight
 * @param subjects  certificate and the verified issuer of it
 * @throws Rejection CRL_*, X509_SIGNATURE when a list of one of these issuers is not authentic
 */
export async function readRevocation(
  crls: readonly Uint8Array[],
  subjects: readonly { certificate: Certificate; issuer: Certificate }[],
  at: number,
): Promise<Revocation> {
  const parsed = crls.map(parseCrl);
  const lists = new Set<Crl>();
  const states: RevocationState[] = [];
  const ends: number[] = [];
  for (const { certificate, issuer } of subjects) {
    const own = parsed.filter((crl) => equalBytes(crl.issuer, issuer.subject));
    for (const crl of own.filter((list) => !lists.has(list))) {
      await verifyCrl(crl, issuer);
      lists.add(crl);
    }
    const found = own.map((crl) => revocationOf(crl, [certificate.serial], at));
    const current = own.filter((_, index) => found[index] === 'good');
    if (current.length > 0) ends.push(Math.max(...current.flatMap(({ nextUpdate }) => nextUpdate ?? [])));
    states.push((['revoked', 'good', 'stale'] as const).find((state) => found.includes(state)) ?? 'unknown');
  }
  const worst = (['revoked', 'unknown', 'stale'] as const).find((state) => states.includes(state));
  return { state: worst ?? 'good', lists: [...lists], notAfter: Math.min(...ends) };
}

function missing(code: string, expected: string, got: string): never {
  const action = 'fetch the collateral of this platform for this time';
  throw new CollateralError(code, { expected, got, rule: 'attestation/EVIDENCE.md §5.2', action });
}

function reject(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/EVIDENCE.md §5.2' });
}
