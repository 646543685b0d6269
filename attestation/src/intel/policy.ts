/**
 * What a policy accepts of an authentic quote. Debug, a non-Intel TDX module and a revoked key are never accepted.
 * Source: attestation/EVIDENCE.md §5.2 rules 3, 7 and 8; Intel TDX Module Base Architecture Specification §12
 * (ATTRIBUTES, XFAM).
 */
import { isZero, toHex, uintLe } from '../base/bytes.js';
import { openChecks, type Check, type CheckBook, type CheckRule } from '../check/checks.js';
import { appraiseEnclavePins, appraiseTdPins, tdAttributeBits, type QuotePins } from './pins.js';
import type { QuoteBody, SgxReport, TdReport } from './quote.js';
import type { TcbStatus } from './tcb-info.js';
import type { QuoteClaims } from './verify.js';

export interface QuotePolicy extends QuotePins {
  readonly acceptedStatuses: readonly TcbStatus[];
  /** Let through with a warning. */
  readonly toleratedStatuses: readonly TcbStatus[];
  /** MRTD or MRENCLAVE, hexadecimal; absent: any. */
  readonly measurements?: readonly string[];
  /** Bytes behind the quote that are not zero padding: refused instead of warned about. */
  readonly refuseStrayBytes: boolean;
}

/** No allow-list, no floor; what Intel says needs hardening or configuration is shown as a warning. */
export const neutralQuotePolicy: QuotePolicy = {
  acceptedStatuses: ['UpToDate'],
  toleratedStatuses: ['SWHardeningNeeded', 'ConfigurationNeeded', 'ConfigurationAndSWHardeningNeeded'],
  refuseStrayBytes: false,
};

const common = {
  QUOTE_STRAY_BYTES: rule('configuration', 'none', 'No bytes but zero padding follow the quote.', 'cut the quote'),
  QUOTE_REVOKED: rule('hardware', 'good', 'No certificate is on a current revocation list.', 'supply current CRLs'),
  QUOTE_TCB_STATUS: rule(
    'hardware',
    '',
    'Platform, TDX module and QE reach an accepted TCB status.',
    'update the host',
  ),
  QUOTE_TCB_EVALUATION: rule(
    'hardware',
    '',
    'Intel’s collateral is of an edition that the policy accepts.',
    'fetch the current collateral',
  ),
  QUOTE_MEASUREMENT: rule('executables', '', 'The policy lists the measurement.', 'run a listed image'),
} satisfies Record<string, CheckRule>;

const tdx = {
  TDX_DEBUG: rule('configuration', '0', 'TD attributes bit 0 (DEBUG) is clear.', 'start the TD without debug'),
  TDX_ATTRIBUTES: rule('configuration', '0', 'No unknown TD attribute is set.', 'use a reviewed TD configuration'),
  TDX_XFAM: rule('configuration', 'fixed bits only', 'XFAM keeps the fixed bits.', 'use a reviewed TD configuration'),
  TDX_MODULE: rule('hardware', 'Intel’s, no attributes', 'Intel signed the TDX module.', 'load Intel’s TDX module'),
  TDX_MODULE_IDENTITY: rule('hardware', 'listed', 'The TCB info lists the TDX module.', 'update the TDX module'),
} satisfies Record<string, CheckRule>;

const sgx = {
  SGX_DEBUG: rule(
    'configuration',
    '0',
    'Enclave attributes bit 1 (DEBUG) is clear.',
    'build the enclave for production',
  ),
} satisfies Record<string, CheckRule>;

/** DEBUG, which has its own check, and those with a name. */
const tdAttributesKnown = Object.values(tdAttributeBits).reduce((mask, bit) => mask | (1n << BigInt(bit)), 1n);
const xfamFixed1 = 0x3n;
const xfamFixed0 = 0x0006dbe7n;

/** Every rule that applies to this kind of quote, met or not. */
export function appraiseQuote(claims: QuoteClaims, policy: QuotePolicy): readonly Check[] {
  const book = openChecks(common);
  const { body } = claims;
  book.settle(
    'QUOTE_STRAY_BYTES',
    claims.strayBytes === 0 ? 'met' : policy.refuseStrayBytes ? 'refused' : 'warned',
    `${claims.strayBytes}`,
  );
  settleRevocation(book, claims);
  settleTcb(book, claims, policy);
  settleEvaluation(book, claims, policy);
  settleMeasurement(book, body, policy);
  const own =
    body.kind === 'sgx'
      ? [...appraiseEnclave(body.report), ...appraiseEnclavePins(body.report, policy)]
      : [...appraiseTd(body.report, claims), ...appraiseTdPins(body, policy)];
  return [...book.checks(), ...own];
}

function settleRevocation(book: CheckBook<keyof typeof common>, { revocation }: QuoteClaims): void {
  const status = { good: 'met', revoked: 'refused', stale: 'missing', unknown: 'missing' } as const;
  const lists = revocation.lists.map((list) => `${list.thisUpdate}–${list.nextUpdate ?? 'open'}`).join(', ');
  book.settle(
    'QUOTE_REVOKED',
    status[revocation.state],
    lists === '' ? revocation.state : `${revocation.state} (${lists})`,
  );
}

function settleTcb(book: CheckBook<keyof typeof common>, { tcb }: QuoteClaims, policy: QuotePolicy): void {
  const expected = [...policy.acceptedStatuses, ...policy.toleratedStatuses].join(', ');
  if (tcb === undefined) return book.settle('QUOTE_TCB_STATUS', 'missing', 'no collateral', expected);
  const { status } = tcb;
  if (status === undefined) return book.settle('QUOTE_TCB_STATUS', 'refused', 'no matching TCB level', expected);
  const got = [status, tcb.platform!.tcbDate, ...tcb.advisories].join(' ');
  const accepted = status !== 'Revoked' && policy.acceptedStatuses.includes(status);
  const tolerated = status !== 'Revoked' && policy.toleratedStatuses.includes(status);
  book.settle('QUOTE_TCB_STATUS', accepted ? 'met' : tolerated ? 'warned' : 'refused', got, expected);
}

function settleEvaluation(
  book: CheckBook<keyof typeof common>,
  { evaluationNumbers }: QuoteClaims,
  { tcbEvaluationNumberMinimum: minimum }: QuotePolicy,
): void {
  if (minimum === undefined) return book.drop('QUOTE_TCB_EVALUATION');
  const status = evaluationNumbers.length < 2 ? 'missing' : evaluationNumbers.every((n) => n >= minimum);
  const got = evaluationNumbers.join(', ') || 'no collateral';
  book.settle(
    'QUOTE_TCB_EVALUATION',
    status === 'missing' ? status : status ? 'met' : 'refused',
    got,
    `≥ ${minimum} in TCB info and QE identity`,
  );
}

/** A list without a value of an enclave's size says nothing of an enclave that is pinned by its signer. */
function settleMeasurement(
  book: CheckBook<keyof typeof common>,
  body: QuoteBody,
  { measurements, mrSigners }: QuotePolicy,
): void {
  const got = toHex(body.kind === 'sgx' ? body.report.mrEnclave : body.report.mrTd);
  const signerDecides = body.kind === 'sgx' && mrSigners !== undefined;
  const unsaid = measurements?.every((value) => value.length !== got.length) ?? true;
  if (measurements === undefined || (signerDecides && unsaid)) return book.drop('QUOTE_MEASUREMENT');
  const listed = measurements.some((value) => value.toLowerCase() === got);
  book.settle('QUOTE_MEASUREMENT', listed ? 'met' : 'refused', got, `one of ${measurements.length} listed`);
}

function appraiseEnclave(report: SgxReport): readonly Check[] {
  const book = openChecks(sgx);
  const debug = (report.attributes[0]! >> 1) & 1;
  book.settle('SGX_DEBUG', debug === 0 ? 'met' : 'refused', `${debug}`);
  return book.checks();
}

function appraiseTd(report: TdReport, { tcb }: QuoteClaims): readonly Check[] {
  const book = openChecks(tdx);
  const attributes = uintLe(report.tdAttributes, 0, 8);
  const xfam = uintLe(report.xfam, 0, 8);
  const unknown = attributes & ~tdAttributesKnown;
  const xfamKept = (xfam & xfamFixed1) === xfamFixed1 && (xfam & ~xfamFixed0) === 0n;
  const intelModule = isZero(report.mrSignerSeam) && isZero(report.seamAttributes);
  const module = `signer ${toHex(report.mrSignerSeam)}, attributes ${toHex(report.seamAttributes)}`;
  book.settle('TDX_DEBUG', (attributes & 1n) === 0n ? 'met' : 'refused', `${attributes & 1n}`);
  book.settle('TDX_ATTRIBUTES', unknown === 0n ? 'met' : 'refused', `0x${unknown.toString(16)}`);
  book.settle('TDX_XFAM', xfamKept ? 'met' : 'refused', `0x${xfam.toString(16)}`);
  book.settle('TDX_MODULE', intelModule ? 'met' : 'refused', module);
  const identity = tcb?.module;
  book.settle(
    'TDX_MODULE_IDENTITY',
    identity ? (identity.known ? 'met' : 'refused') : 'missing',
    identity?.id ?? 'no collateral',
  );
  return book.checks();
}

function rule(claim: CheckRule['claim'], expected: string, text: string, action: string): CheckRule {
  return { claim, expected, rule: text, source: 'Intel SGX and TDX DCAP; attestation/EVIDENCE.md §5.2', action };
}
