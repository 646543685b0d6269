/**
 * Runner for folders of Intel quotes: file `quote`, with `collateral` or with single documents and lists; `hclReport`
 * where a paravisor chose the report data.
 */
import { fromUtf8, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { openChecks, tierOf, type CheckRule } from '../check/checks.js';
import { parseCollateralBundle, readPcsResponse, type QuoteCollateral } from '../intel/collateral.js';
import { appraiseQuote, neutralQuotePolicy } from '../intel/policy.js';
import { intelRootSpkiSha256, verifyQuote } from '../intel/verify.js';
import { checkHclBinding, parseHclReport } from '../snp/hcl.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { pinOf, verdictOf } from './types.js';
import type { SampleEntry, SampleRunner } from './types.js';

const rules = {
  QUOTE_COLLATERAL_FORMAT: {
    claim: 'hardware',
    expected: 'Intel’s documents',
    rule: 'The supplied collateral can be read.',
    source: 'Intel PCS API version 4',
    action: 'fetch the collateral again',
  },
  HCL_REPORT_DATA: {
    claim: 'instance-identity',
    expected: 'SHA-256 of the runtime claims',
    rule: 'The quote covers the paravisor’s runtime claims.',
    source: 'attestation/EVIDENCE.md §2.12',
    action: 'collect quote and paravisor report together',
  },
} satisfies Record<string, CheckRule>;

export const runIntelSample: SampleRunner = async (entry) => {
  const pins = new Set(pinOf(intelRootSpkiSha256, entry.anchors.flatMap(parsePemCertificates)));
  const book = openChecks(rules);
  let material: Material = {};
  try {
    material = readMaterial(entry);
    book.settle('QUOTE_COLLATERAL_FORMAT', 'met', `${entry.files.size - 1} files beside the quote`);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    book.settle('QUOTE_COLLATERAL_FORMAT', 'refused', error.detail.got, error.detail.expected);
  }
  const quote = entry.files.get('quote') ?? new Uint8Array();
  const verified = await verifyQuote({ quote, at: entry.at, pins, ...material });
  const hcl = entry.files.get('hclReport');
  if (hcl === undefined || verified.claims === undefined) book.drop('HCL_REPORT_DATA');
  else {
    const { reportData } = verified.claims.body.report;
    await book.attempt('HCL_REPORT_DATA', () => {
      checkHclBinding(parseHclReport(hcl), reportData);
      return toHex(reportData);
    });
  }
  const policyChecks = verified.claims ? appraiseQuote(verified.claims, neutralQuotePolicy) : [];
  const checks = [...book.checks(), ...verified.checks, ...policyChecks];
  const forged = book.checks().some(({ status }) => status === 'forged');
  return verdictOf(forged ? 'forged' : verified.authenticity, tierOf(checks), checks);
};

interface Material {
  readonly collateral?: QuoteCollateral;
  readonly crls?: readonly Uint8Array[];
}

function readMaterial({ files }: SampleEntry): Material {
  const bundle = files.get('collateral');
  if (bundle !== undefined) return parseCollateralBundle(fromUtf8(bundle));
  const [tcbInfo, qeIdentity] = (['tcbInfo', 'qeIdentity'] as const).map((name) => {
    const file = files.get(name);
    return file && readPcsResponse(fromUtf8(file));
  });
  const crls = ['rootCrl', 'pckCrl'].flatMap((name) => files.get(name) ?? []);
  return { collateral: { ...(tcbInfo && { tcbInfo }), ...(qeIdentity && { qeIdentity }) }, crls };
}
