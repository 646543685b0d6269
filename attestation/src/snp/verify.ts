/**
 * Authenticity of an SNP report: encoding, endorsement, chain to a pinned root, report signature, identity links
 * (chip, TCB, product). What a policy accepts is decided in appraise.ts.
 */
import { equalBytes, isZero, toHex } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { poolCertificatesMax } from '../base/limits.js';
import { verifySignature } from '../base/signatures.js';
import { authenticityOf, openChecks } from '../check/checks.js';
import type { CheckBook, CheckRule } from '../check/checks.js';
import type { Verified } from '../check/verified.js';
import { parseCertificate } from '../x509/certificate.js';
import type { Certificate } from '../x509/certificate.js';
import { verifyPath } from '../x509/path.js';
import type { VerifiedPath } from '../x509/path.js';
import { parseSnpReport } from './abi.js';
import type { SnpReport } from './abi.js';
import { endorses } from './endorses.js';
import { readGuestPolicy, readPlatformInfo } from './policy.js';
import type { GuestPolicy, PlatformInfo } from './policy.js';
import { candidateProducts, productLayout } from './product.js';
import type { SnpProduct } from './product.js';
import { snpRevocation } from './revocation.js';
import type { SnpRevocation } from './revocation.js';
import { amdIntermediates, amdRoots } from './roots.js';
import type { SnpRoot } from './roots.js';
import { readTcb, tcbComponents, tcbText } from './tcb.js';
import type { Tcb } from './tcb.js';
import { isSnpLeaf, readSnpEndorsement } from './vcek.js';
import type { SnpEndorsement } from './vcek.js';

export interface SnpRequest {
  /** 1184 bytes. */
  readonly report: Uint8Array;
  /** DER: the leaf, its issuers, in any order; untrusted. */
  readonly certificates: readonly Uint8Array[];
  /** DER; may be empty. */
  readonly crls: readonly Uint8Array[];
  /** Unix seconds. */
  readonly at: number;
  /** Simulated roots that the caller's policy names; absent: AMD's, and the evidence is `snp`. */
  readonly simulatedRoots?: readonly SnpRoot[];
}

export interface SnpClaims {
  readonly report: SnpReport;
  readonly product: SnpProduct;
  readonly endorsement: SnpEndorsement;
  /** Hexadecimal id of the chip from the endorsement (Turin: 8 bytes); absent under a VLEK. */
  readonly chipId?: string;
  /** The report hides CHIP_ID although a VCEK signed it. */
  readonly chipIdMasked: boolean;
  readonly guestPolicy: GuestPolicy;
  readonly platformInfo: PlatformInfo;
  readonly tcb: Readonly<Record<'current' | 'reported' | 'committed' | 'launch', Tcb>>;
  readonly revocation: SnpRevocation;
  readonly rootSpkiSha256: string;
  /** SHA-256 of the SubjectPublicKeyInfo of intermediate and root, hexadecimal. */
  readonly issuers: readonly string[];
  /** Unix seconds: the earliest end among the chain's certificates. */
  readonly notAfter: number;
}

const rule = (
  claim: CheckRule['claim'],
  expected: string,
  text: string,
  source: string,
  action: string,
): CheckRule => ({
  claim,
  expected,
  rule: text,
  source,
  action,
});
const identity = 'instance-identity';
const suspect = 'do not use this evidence: it is not what a genuine machine produced';

const snpRules = {
  SNP_REPORT_FORMAT: rule(
    identity,
    'the layout of versions 2 to 5',
    'The report has the exact layout of its version, reserved bytes zero.',
    'AMD 56860 ATTESTATION_REPORT; attestation/SPEC.md §5.1',
    suspect,
  ),
  SNP_CERTIFICATES: rule(
    identity,
    'strict DER',
    'Every certificate supplied is well-formed.',
    'RFC 5280 §4; attestation/SPEC.md §4',
    'supply the certificates as the vendor issued them',
  ),
  SNP_ENDORSEMENT: rule(
    identity,
    'one VCEK or VLEK as SIGNING_KEY says',
    'A leaf of the kind that the report names comes with its extensions.',
    'AMD 57230; attestation/SPEC.md §5.5',
    'fetch the VCEK of this chip and TCB from the KDS, or the VLEK from the host',
  ),
  SNP_CHAIN: rule(
    identity,
    'leaf, intermediate, pinned root',
    'The endorsement chains to a pinned root within its validity.',
    'RFC 5280 §6.1; attestation/SPEC.md §4',
    suspect,
  ),
  SNP_ENDORSEMENT_DATE: rule(
    identity,
    '',
    'The VCEK existed by the verification time, or was issued within a day after it.',
    'RFC 5280 §4.1.2.5; attestation/SPEC.md §5.2',
    'a VCEK is issued anew at every request: judge at a later time, or accept that it vouches for the past',
  ),
  SNP_INTERMEDIATE: rule(
    identity,
    'a known ASK or ASVK',
    'The intermediate is one AMD uses for this product and kind of leaf.',
    'attestation/SPEC.md §5.6',
    'compare the intermediate with AMD’s publication and pin it',
  ),
  SNP_REPORT_SIGNATURE: rule(
    identity,
    'ECDSA P-384 by the endorsed key',
    'The endorsed key signed bytes 0x000 to 0x29f.',
    'AMD 56860; FIPS 186-5 §6.4.2',
    suspect,
  ),
  SNP_PRODUCT: rule(
    identity,
    'one product',
    'CPUID, chain root and TCB layout name the same product.',
    'attestation/SPEC.md §5.4',
    suspect,
  ),
  SNP_CHIP_ID: rule(
    identity,
    'hwID equals CHIP_ID',
    'The endorsement belongs to the chip that made the report.',
    'AMD 57230; attestation/SPEC.md §5.5',
    suspect,
  ),
  SNP_CERTIFICATE_TCB: rule(
    identity,
    'SPLs equal REPORTED_TCB',
    'The endorsed key was derived for the reported TCB.',
    'AMD 57230; attestation/SPEC.md §5.3',
    suspect,
  ),
} satisfies Record<string, CheckRule>;
type Book = CheckBook<keyof typeof snpRules>;

/** @returns checks in the order of `snpRules`; claims only when authentic */
export async function verifySnp(request: SnpRequest): Promise<Verified<SnpClaims>> {
  const kind = request.simulatedRoots === undefined ? 'snp' : 'simulated-snp';
  const book = openChecks(snpRules);
  if (kind === 'simulated-snp') book.drop('SNP_INTERMEDIATE');
  const report = await book.derive(
    'SNP_REPORT_FORMAT',
    () => parseSnpReport(request.report),
    ({ version }) => `version ${version}`,
  );
  const pool = await book.derive(
    'SNP_CERTIFICATES',
    () => parsePool(request.certificates),
    (list) => `${list.length} certificates`,
  );
  const endorsement =
    report && pool && (await book.derive('SNP_ENDORSEMENT', () => chooseEndorsement(report, pool), endorsementText));
  const path = endorsement && pool && (await checkChain(book, request, endorsement, pool));
  if (report && endorsement) await checkReport(book, report, endorsement, path, rootsOf(request));
  const checks = book.checks();
  const authenticity = authenticityOf(checks);
  if (authenticity !== 'authentic' || !report || !endorsement || !path || !pool) return { kind, authenticity, checks };
  return { kind, authenticity, checks, claims: await readClaims(request, report, endorsement, path) };
}

function rootsOf(request: SnpRequest): readonly SnpRoot[] {
  return request.simulatedRoots ?? amdRoots;
}

function parsePool(certificates: readonly Uint8Array[]): Certificate[] {
  if (certificates.length > poolCertificatesMax)
    refuse('SNP_CERTIFICATES', `at most ${poolCertificatesMax}`, `${certificates.length}`);
  return certificates.map(parseCertificate);
}

function chooseEndorsement(report: SnpReport, pool: readonly Certificate[]): SnpEndorsement {
  const leaves = pool.filter(isSnpLeaf).map(readSnpEndorsement);
  const ofKind = leaves.filter(({ kind }) => kind === report.signingKey);
  const own = ofKind.filter((one) => endorses(one, report));
  // Those of other machines may stand beside it; without its own, whatever is there is held against the report.
  const fitting = own.length > 0 ? own : ofKind;
  const [leaf] = fitting;
  if (fitting.some(({ certificate }) => certificate.spkiSha256 !== leaf!.certificate.spkiSha256)) {
    refuse('SNP_ENDORSEMENT_AMBIGUOUS', `one ${report.signingKey}`, `${fitting.length}`);
  }
  if (leaf !== undefined) return leaf;
  if (leaves.length > 0) refuse('SNP_ENDORSEMENT_KIND', report.signingKey, leaves[0]!.kind);
  throw new CollateralError('SNP_ENDORSEMENT_MISSING', {
    expected: `the ${report.signingKey} of this report`,
    got: 'no endorsement',
    rule: 'attestation/SPEC.md §5.5',
  });
}

function endorsementText(endorsement: SnpEndorsement): string {
  return `${endorsement.kind}, ${endorsement.productName}, ${tcbText(endorsement.tcb)}`;
}

async function checkChain(
  book: Book,
  request: SnpRequest,
  endorsement: SnpEndorsement,
  pool: readonly Certificate[],
): Promise<VerifiedPath | undefined> {
  const rootSpkiSha256 = new Set(rootsOf(request).map(({ spkiSha256 }) => spkiSha256));
  const path = await book.derive(
    'SNP_CHAIN',
    async () => {
      const found = await verifyPath({
        leaf: endorsement.certificate,
        pool,
        rootSpkiSha256,
        at: request.at,
        leafIssuedOnDemand: endorsement.kind === 'vcek',
      });
      if (found.certificates.length !== 3) refuse('SNP_CHAIN_LENGTH', '3 certificates', `${found.certificates.length}`);
      return found;
    },
    ({ certificates }) => certificates.map(({ subjectText }) => subjectText).join(' ← '),
  );
  if (path !== undefined) settleDate(book, endorsement, request.at);
  if (path !== undefined && request.simulatedRoots === undefined) settleIntermediate(book, path, endorsement);
  return path;
}

const daySeconds = 86_400;

/** A VLEK's notBefore is held by the path. A VCEK's is no reason to refuse, and one a day off is for a reader to see. */
function settleDate(book: Book, { kind, certificate }: SnpEndorsement, at: number): void {
  if (kind === 'vlek') return book.drop('SNP_ENDORSEMENT_DATE');
  const early = at < certificate.notBefore - daySeconds;
  const got = `${certificate.notBefore}${early ? `, ${certificate.notBefore - at} s later` : ''}`;
  book.settle('SNP_ENDORSEMENT_DATE', early ? 'warned' : 'met', got, `notBefore ≤ ${at + daySeconds}`);
}

function settleIntermediate(book: Book, path: VerifiedPath, { kind }: SnpEndorsement): void {
  const spki = path.certificates[1]!.spkiSha256;
  const product = amdRoots.find(({ spkiSha256 }) => spkiSha256 === path.root.spkiSha256)!.product;
  const known = amdIntermediates.find(({ spkiSha256 }) => spkiSha256 === spki);
  const fits = known === undefined || (known.kind === kind && known.product === product);
  book.settle(
    'SNP_INTERMEDIATE',
    known === undefined ? 'warned' : fits ? 'met' : 'forged',
    `${path.certificates[1]!.subjectText}, SPKI ${spki}`,
  );
}

async function checkReport(
  book: Book,
  report: SnpReport,
  endorsement: SnpEndorsement,
  path: VerifiedPath | undefined,
  roots: readonly SnpRoot[],
): Promise<void> {
  await book.attempt('SNP_REPORT_SIGNATURE', async () => {
    try {
      await verifySignature('ecdsa-p384-sha384', endorsement.certificate.spki, report.signature, report.signed);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      refuse('SNP_REPORT_SIGNATURE', 'a signature by the endorsed key', error.code);
    }
    return 'holds';
  });
  if (path !== undefined) await book.attempt('SNP_PRODUCT', () => checkProduct(report, endorsement, path, roots));
  settleChipId(book, report, endorsement);
  await book.attempt('SNP_CERTIFICATE_TCB', () => {
    const { layout } = endorsement;
    const reported = readTcb(report.reportedTcb, layout);
    for (const other of [report.currentTcb, report.committedTcb, report.launchTcb]) readTcb(other, layout);
    const same = tcbComponents.every((component) => reported[component] === endorsement.tcb[component]);
    return same ? tcbText(reported) : refuse('SNP_CERTIFICATE_TCB', tcbText(reported), tcbText(endorsement.tcb));
  });
}

function checkProduct(
  report: SnpReport,
  endorsement: SnpEndorsement,
  path: VerifiedPath,
  roots: readonly SnpRoot[],
): string {
  const candidates = candidateProducts(report);
  const { product } = roots.find(({ spkiSha256 }) => spkiSha256 === path.root.spkiSha256)!;
  if (!candidates.includes(product)) refuse('SNP_PRODUCT', candidates.join(' or '), `chain of ${product}`);
  if (productLayout[product] !== endorsement.layout) {
    refuse('SNP_PRODUCT', `structVersion ${productLayout[product]} for ${product}`, `${endorsement.layout}`);
  }
  return product;
}

/** VCEK: hwID equals CHIP_ID, padded with zeros on Turin, or CHIP_ID is masked. VLEK: CHIP_ID is zero. */
function settleChipId(book: Book, report: SnpReport, endorsement: SnpEndorsement): void {
  const got = toHex(report.chipId);
  if (endorsement.kind === 'vlek') {
    return book.settle('SNP_CHIP_ID', isZero(report.chipId) ? 'met' : 'forged', got, 'zeros, as a VLEK names no chip');
  }
  if (isZero(report.chipId)) return book.settle('SNP_CHIP_ID', 'warned', 'masked', toHex(endorsement.hwid));
  const size = endorsement.hwid.length;
  const same = equalBytes(report.chipId.subarray(0, size), endorsement.hwid) && isZero(report.chipId.subarray(size));
  book.settle('SNP_CHIP_ID', same ? 'met' : 'forged', got, toHex(endorsement.hwid));
}

async function readClaims(
  request: SnpRequest,
  report: SnpReport,
  endorsement: SnpEndorsement,
  path: VerifiedPath,
): Promise<SnpClaims> {
  const { layout } = endorsement;
  return {
    report,
    product: rootsOf(request).find(({ spkiSha256 }) => spkiSha256 === path.root.spkiSha256)!.product,
    endorsement,
    ...(endorsement.kind === 'vcek' && { chipId: toHex(endorsement.hwid) }),
    chipIdMasked: endorsement.kind === 'vcek' && isZero(report.chipId),
    guestPolicy: readGuestPolicy(report.policy),
    platformInfo: readPlatformInfo(report.platformInfo),
    tcb: {
      current: readTcb(report.currentTcb, layout),
      reported: readTcb(report.reportedTcb, layout),
      committed: readTcb(report.committedTcb, layout),
      launch: readTcb(report.launchTcb, layout),
    },
    revocation: await snpRevocation(request.crls, path, request.at),
    rootSpkiSha256: path.root.spkiSha256,
    issuers: path.certificates.slice(1).map(({ spkiSha256 }) => spkiSha256),
    notAfter: Math.min(...path.certificates.map(({ notAfter }) => notAfter)),
  };
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/SPEC.md §5' });
}
