/** Which bytes of a bundle a check is about: the part and the field that are marked when a reader asks. */
import type { BundlePart, Check } from '#libs/review';

export interface Place {
  readonly part: string;
  readonly field?: string;
}

/** Where a reader who asks for nothing begins: the measurement of the first session, under its vendor's name. */
export function measurementOf(parts: readonly BundlePart[]): Place {
  const first = parts[0]!;
  const field = first.fields().find(({ name }) => name === 'MEASUREMENT' || name === 'mrTd')?.name;
  return { part: first.id, ...(field !== undefined && { field }) };
}

const ofReport: readonly (readonly [pattern: RegExp, field: string])[] = [
  [/^SNP_MEASUREMENT$/, 'MEASUREMENT'],
  [/^SNP_(POLICY_|GUEST_POLICY)/, 'POLICY'],
  [/^SNP_(TCB_|CERTIFICATE_TCB)/, 'REPORTED_TCB'],
  [/^REPORT_DATA_MISMATCH$/, 'REPORT_DATA'],
  [/^SNP_(CHIP_|REVOKED|ENDORSEMENT)/, 'CHIP_ID'],
  [/^SNP_REPORT_SIGNATURE$/, 'SIGNATURE'],
  [/^SNP_HOST_DATA$/, 'HOST_DATA'],
  [/^SNP_PLATFORM_/, 'PLATFORM_INFO'],
  [/^SNP_VMPL$/, 'VMPL'],
  [/^SNP_GUEST_SVN$/, 'GUEST_SVN'],
  [/^SNP_REPORT_FORMAT$/, 'VERSION'],
  [/^QUOTE_MEASUREMENT$/, 'mrTd'],
];

const ofBundle: Readonly<Record<string, string>> = {
  BUNDLE_SPEC: 'spec',
  BUNDLE_TERMS: 'terms',
  BUNDLE_POLICY: 'policy',
  BUNDLE_START: 'segment-0/statement',
  BUNDLE_CHAIN: 'segment-0/statement',
  BUNDLE_RECEIPTS: 'segment-0/receipt',
  BUNDLE_RESULTS: 'session-0/result',
  BUNDLE_SEAL: 'seal',
  LOG_ENTRIES: 'log-0/entry',
  LOG_CHECKPOINT: 'log-0/proof',
  LOG_WITNESSES: 'log-0/proof',
};

export function placeOf({ id, subject }: Pick<Check, 'id' | 'subject'>): Place | undefined {
  if (typeof subject !== 'object') {
    const part = ofBundle[id];
    return part === undefined ? undefined : { part };
  }
  if ('gpu' in subject) return { part: `session-${subject.session}/gpu-${subject.gpu}` };
  const field = ofReport.find(([pattern]) => pattern.test(id))?.[1];
  if (field === undefined) return undefined;
  return { part: `session-${subject.session}/cpu`, field };
}
