/**
 * Authenticity of an Intel SGX or TDX quote: signature, quoting enclave, PCK chain to a pinned root; with collateral also
 * the platform's TCB standing. What a policy accepts is decided in policy.ts from the claims.
 * Source: attestation/EVIDENCE.md §5.2; Intel SGX DCAP, TDX DCAP.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, fromUtf8, isZero, toHex } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { writePem } from '../base/pem.js';
import { spkiOfPoint, verifySignature } from '../base/signatures.js';
import { authenticityOf, openChecks, type Check, type CheckBook, type CheckRule } from '../check/checks.js';
import type { Verified } from '../check/verified.js';
import { parsePemCertificates, type Certificate } from '../x509/certificate.js';
import { verifyPath } from '../x509/path.js';
import { readQeIdentity, readRevocation, readTcbInfo } from './collateral.js';
import type { QuoteCollateral, Revocation, Trust } from './collateral.js';
import { parsePckExtension, pckExtensionOid, type PckIdentity } from './pck.js';
import { integerLe, parseQuote, type Quote, type QuoteBody } from './quote.js';
import type { QeIdentity, SvnLevel, TcbInfo } from './tcb-info.js';
import { differingQeFields, judgeTcb, selectSvnLevel, type TcbJudgement } from './tcb.js';

/** SHA-256 of the SubjectPublicKeyInfo of the Intel SGX Root CA. Source: attestation/EVIDENCE.md §1. */
export const intelRootSpkiSha256 = 'a0af031289f5d5d4132f9186068a7fc13628633ba235777472e29b6b6c67a49e';

export interface QuoteRequest extends Trust {
  readonly quote: Uint8Array;
  readonly collateral?: QuoteCollateral;
  /** DER: the root's list and the PCK issuer's list. */
  readonly crls?: readonly Uint8Array[];
}

export interface QuoteClaims {
  readonly quote: Quote;
  readonly body: QuoteBody;
  readonly pck: PckIdentity;
  /** Bytes behind the declared end that are not zero padding. */
  readonly strayBytes: number;
  readonly revocation: Revocation;
  /** SHA-256 of the SubjectPublicKeyInfo of PCK issuer and root, hexadecimal. */
  readonly issuers: readonly string[];
  /** tcbEvaluationDataNumber of TCB info and QE identity, as far as they were supplied and genuine. */
  readonly evaluationNumbers: readonly number[];
  /** Absent when the collateral was. */
  readonly tcb?: TcbJudgement;
  /** Unix seconds: when the first certificate, document or list that this rests on ends. */
  readonly notAfter: number;
}

const core = {
  QUOTE_FORMAT: rule('a quote of version 3, 4 or 5', 'The quote is strictly encoded.'),
  QUOTE_TRAILING_BYTES: rule('nothing, or zeros', 'Nothing but zero padding follows the declared length.'),
  QUOTE_PCK_CHAIN: rule('leaf, intermediate, pinned root', 'The PCK certificate leads to the pinned root.'),
  QUOTE_PCK_EXTENSION: rule('platform and TCB', 'The PCK certificate names its platform and TCB.'),
  QUOTE_QE_SIGNATURE: rule('a signature by the PCK', 'The PCK signed the quoting enclave’s report.'),
  QUOTE_ATTESTATION_KEY: rule('SHA-256(key ‖ auth data)', 'The quoting enclave’s report names the attestation key.'),
  QUOTE_SIGNATURE: rule('a signature by the attestation key', 'The attestation key signed header and body.'),
} satisfies Record<string, CheckRule>;

const supplied = {
  QUOTE_TCB_INFO: rule('current, for this platform', 'Intel signed the TCB info of this platform for this time.'),
  QUOTE_QE_IDENTITY: rule('current, for this enclave', 'Intel signed the QE identity for this time.'),
  QUOTE_QE_MISMATCH: rule('no differing field', 'The quoting enclave is the one Intel describes.'),
  QUOTE_CRL: rule('signed by the issuers', 'Supplied revocation lists are signed by the issuers they name.'),
} satisfies Record<string, CheckRule>;

type CoreBook = CheckBook<keyof typeof core>;
type SuppliedBook = CheckBook<keyof typeof supplied>;

/** Checks come first for the quote itself, then for the collateral. Throws nothing but bugs. */
export async function verifyQuote(request: QuoteRequest): Promise<Verified<QuoteClaims>> {
  const book = openChecks(core);
  const collateralBook = openChecks(supplied);
  const genuine = await verifyCore(request, book);
  const claims = genuine && (await addCollateral(request, genuine, collateralBook));
  const kind = genuine?.quote.body.kind === 'sgx' ? 'sgx' : 'tdx';
  const checks = [...book.checks(), ...(genuine ? collateralBook.checks().map(refuseMaterial) : [])];
  const authenticity = checks.some(({ status }) => status === 'forged') ? 'forged' : authenticityOf(book.checks());
  return { kind, authenticity, checks, ...(claims && authenticity === 'authentic' && { claims }) };
}

/** Supplied material that is not genuine is refused; it proves nothing against the quote itself. */
function refuseMaterial(check: Check): Check {
  return check.status === 'forged' && check.code !== 'QUOTE_QE_MISMATCH' ? { ...check, status: 'refused' } : check;
}

interface Genuine {
  readonly quote: Quote;
  readonly pck: PckIdentity;
  /** Leaf, intermediate, root. */
  readonly path: readonly Certificate[];
  readonly strayBytes: number;
}

async function verifyCore(request: QuoteRequest, book: CoreBook): Promise<Genuine | undefined> {
  let quote: Quote | undefined;
  let path: readonly Certificate[] | undefined;
  let pck: PckIdentity | undefined;
  await book.attempt('QUOTE_FORMAT', () => {
    quote = parseQuote(request.quote);
    return `version ${quote.version}, ${quote.body.kind}`;
  });
  if (quote === undefined) return undefined;
  const parsed = quote;
  const strayBytes = isZero(parsed.trailing) ? 0 : parsed.trailing.length;
  book.settle('QUOTE_TRAILING_BYTES', strayBytes === 0 ? 'met' : 'warned', `${strayBytes} stray bytes`);
  await book.attempt('QUOTE_PCK_CHAIN', async () => {
    path = await readPckPath(parsed.pckChain, request);
    return path.map(({ subjectText }) => subjectText).join(' < ');
  });
  await book.attempt('QUOTE_ATTESTATION_KEY', () => checkAttestationKey(parsed));
  await book.attempt('QUOTE_SIGNATURE', () =>
    checkSignature(
      'QUOTE_SIGNATURE',
      spkiOfPoint('ecdsa-p256-sha256', parsed.attestationKey),
      parsed.quoteSignature,
      parsed.signedBytes,
    ),
  );
  if (path === undefined) return undefined;
  const leaf = path[0]!;
  await book.attempt('QUOTE_PCK_EXTENSION', () => {
    pck = parsePckExtension(leaf.extensions.get(pckExtensionOid)?.value ?? new Uint8Array());
    return `FMSPC ${toHex(pck.fmspc)}, PCE ${toHex(pck.pceId)}, CPUSVN ${toHex(pck.cpuSvn)}, PCESVN ${pck.tcb.pceSvn}`;
  });
  await book.attempt('QUOTE_QE_SIGNATURE', () =>
    checkSignature('QUOTE_QE_SIGNATURE', leaf.spki, parsed.qeReportSignature, parsed.qeReportBytes),
  );
  return pck && { quote: parsed, pck, path, strayBytes };
}

/** The PEM text admits one spelling and one order, so that no byte of the quote can vary unnoticed. */
async function readPckPath(pem: Uint8Array, trust: Trust): Promise<readonly Certificate[]> {
  const text = fromUtf8(pem);
  const chain = parsePemCertificates(text);
  const spelled = chain.map(({ raw }) => writePem(raw)).join('');
  if (text !== spelled && text !== `${spelled}\0`)
    reject('QUOTE_PCK_PEM', 'three PEM blocks and nothing else', 'other text');
  const [leaf, ...pool] = chain as [Certificate, ...Certificate[]];
  const { certificates } = await verifyPath({ leaf, pool, rootSpkiSha256: trust.pins, at: trust.at }).catch(
    asRejection,
  );
  const root = certificates[certificates.length - 1]!;
  const ordered = certificates.length === chain.length && certificates.every((link, i) => link === chain[i]);
  if (chain.length !== 3 || !ordered || !equalBytes(root.issuer, root.subject)) {
    reject('QUOTE_PCK_CHAIN_ORDER', 'leaf, intermediate, self-issued root', `${chain.length} certificates`);
  }
  return certificates;
}

/** A quote carries its own path: an issuer that is not in it is no collateral to be fetched. */
function asRejection(error: unknown): never {
  throw error instanceof CollateralError ? new Rejection(error.code, error.detail) : error;
}

function checkAttestationKey(quote: Quote): string {
  const digest = sha256(concatBytes(quote.attestationKey, quote.qeAuthData));
  const { reportData } = quote.qeReport;
  if (!equalBytes(reportData, concatBytes(digest, new Uint8Array(32)))) {
    reject('QUOTE_ATTESTATION_KEY', `${toHex(digest)} and 32 zero bytes`, toHex(reportData));
  }
  return toHex(digest);
}

async function checkSignature(
  code: keyof typeof core,
  spki: Uint8Array,
  signature: Uint8Array,
  message: Uint8Array,
): Promise<string> {
  await verifySignature('ecdsa-p256-sha256', spki, signature, message).catch((error: unknown) => {
    if (!(error instanceof Rejection)) throw error;
    reject(code, core[code].expected, error.code);
  });
  return toHex(signature);
}

async function addCollateral(request: QuoteRequest, genuine: Genuine, book: SuppliedBook): Promise<QuoteClaims> {
  const { quote, pck, path, strayBytes } = genuine;
  const tee = quote.body.kind === 'sgx' ? 'SGX' : 'TDX';
  const signers: Certificate[] = [];
  let info: TcbInfo | undefined;
  let identity: QeIdentity | undefined;
  await book.attempt('QUOTE_TCB_INFO', async () => {
    const read = await readTcbInfo(request.collateral?.tcbInfo, tee, pck, request);
    signers.push(read.signer);
    info = read.document;
    return `evaluation ${info.tcbEvaluationDataNumber}, ${info.issueDate} to ${info.nextUpdate}`;
  });
  await book.attempt('QUOTE_QE_IDENTITY', async () => {
    const read = await readQeIdentity(request.collateral?.qeIdentity, tee, request);
    signers.push(read.signer);
    identity = read.document;
    return `evaluation ${identity.tcbEvaluationDataNumber}, ${identity.issueDate} to ${identity.nextUpdate}`;
  });
  const qeLevel = checkQe(quote, identity, book);
  let revocation: Revocation = { state: 'unknown', lists: [], notAfter: Infinity };
  const [leaf, intermediate, root] = path as [Certificate, Certificate, Certificate];
  await book.attempt('QUOTE_CRL', async () => {
    const byRoot = [intermediate, ...signers].map((certificate) => ({ certificate, issuer: root }));
    revocation = await readRevocation(
      request.crls ?? [],
      [{ certificate: leaf, issuer: intermediate }, ...byRoot],
      request.at,
    );
    return (
      revocation.lists.map((list) => `${list.issuerText} number ${list.number ?? 'none'}`).join('; ') || 'none supplied'
    );
  });
  const tcb = info && identity && judgeTcb(info, pck.tcb, quote.body, qeLevel);
  const documentEnds = [info, identity].flatMap((document) => document?.nextUpdate ?? []);
  const certificateEnds = [...path, ...signers].map((certificate) => certificate.notAfter);
  const notAfter = Math.min(...certificateEnds, ...documentEnds, revocation.notAfter);
  const issuers = [intermediate, root].map(({ spkiSha256 }) => spkiSha256);
  const evaluationNumbers = [info, identity].flatMap((document) => document?.tcbEvaluationDataNumber ?? []);
  const facts = { quote, body: quote.body, pck, strayBytes, revocation, issuers, evaluationNumbers, notAfter };
  return { ...facts, ...(tcb && { tcb }) };
}

function checkQe(quote: Quote, identity: QeIdentity | undefined, book: SuppliedBook): SvnLevel | undefined {
  if (identity === undefined) {
    book.settle('QUOTE_QE_MISMATCH', 'missing', 'no QE identity');
    return undefined;
  }
  const differing = differingQeFields(identity, quote.qeReport);
  book.settle('QUOTE_QE_MISMATCH', differing.length === 0 ? 'met' : 'forged', differing.join(', ') || 'none');
  return selectSvnLevel(identity.tcbLevels, integerLe(quote.qeReport.isvSvn));
}

function rule(expected: string, text: string): CheckRule {
  const action = 'obtain a fresh quote with its current collateral; if it fails again do not trust the machine';
  return {
    claim: 'hardware',
    expected,
    rule: text,
    source: 'Intel SGX and TDX DCAP; attestation/EVIDENCE.md §5.2',
    action,
  };
}

function reject(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/EVIDENCE.md §5.2' });
}
