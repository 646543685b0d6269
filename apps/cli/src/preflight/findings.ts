/** What stands between a machine and a policy, sorted by what an operator has to touch. */
import type { Check } from '#attestation';
import type { CollateralError } from '#attestation/base';
import type { CertificateDates } from './facts.js';

const areas = [
  'devices',
  'firmware and TCB',
  'guest image and settings',
  'GPU driver',
  'GPU VBIOS',
  'reference manifests',
  'certificates',
  'collateral',
  'policy',
  'evidence',
] as const;
type Area = (typeof areas)[number];

export interface Finding {
  readonly area: Area;
  /** `blocking`: the policy would refuse this machine; `notice`: it would not, yet. */
  readonly weight: 'blocking' | 'notice';
  readonly code: string;
  readonly expected: string;
  readonly got: string;
  /** What to do. */
  readonly action: string;
}

/** First match wins. */
const byCode: readonly (readonly [RegExp, Area])[] = [
  [/EXPIRED|NOT_YET/, 'certificates'],
  [/^POLICY_|^SIMULATED_|^EVIDENCE_KIND$/, 'policy'],
  [/_RIM_|^NVIDIA_MEASUREMENT_MISMATCH$/, 'reference manifests'],
  [/MISSING|REVOKED|OCSP|ON_HOLD|CERTIFICATE_UNKNOWN/, 'collateral'],
  [/^GPU_DRIVER$/, 'GPU driver'],
  [/^GPU_VBIOS$/, 'GPU VBIOS'],
  [/^SNP_(GUEST|POLICY|MEASUREMENT|ID_KEY|AUTHOR_KEY|HOST_DATA|VMPL)|DEBUG$|^NVIDIA_CC_/, 'guest image and settings'],
  [/^QUOTE_MEASUREMENT$|^TDX_(ATTRIBUTES|XFAM)$/, 'guest image and settings'],
  [/TCB|MITIGATIONS|PLATFORM_(INFO|UNKNOWN)|^TDX_MODULE|^QUOTE_QE_(IDENTITY|MISMATCH)$/, 'firmware and TCB'],
  [/^SNP_(CHIP|VLEK)|DENIED|NOT_ALLOWED|^COMPOSITE_/, 'devices'],
];

export function areaOf(code: string): Area {
  return byCode.find(([pattern]) => pattern.test(code))?.[1] ?? 'evidence';
}

/** Checks that are not met; those that did not run count where nothing else explains why. */
export function findingsOfChecks(checks: readonly Check[]): Finding[] {
  const failed = checks.filter(({ status }) => status !== 'met' && status !== 'not-checked');
  const explained = failed.some(({ status }) => status !== 'warned');
  return [...failed, ...(explained ? [] : checks.filter(({ status }) => status === 'not-checked'))].map(
    ({ code, status, expected, got, action }) => ({
      area: areaOf(code),
      weight: status === 'warned' ? 'notice' : 'blocking',
      code,
      expected,
      got,
      action: action || 'see the rule of this check',
    }),
  );
}

export function findingOfMissing({ code, detail }: CollateralError): Finding {
  const { expected, got, rule, action = 'try again' } = detail;
  return { area: 'collateral', weight: 'notice', code, expected: `${rule}: ${expected}`, got, action };
}

const renewWithinSeconds = 30 * 86_400;

/** Certificates that end within thirty days; what has ended is found by the checks. */
export function findingsOfDates(certificates: readonly CertificateDates[], at: number): Finding[] {
  return certificates
    .filter(({ notAfter }) => at <= notAfter && notAfter < at + renewWithinSeconds)
    .map(({ subject, notAfter }) => ({
      area: 'certificates',
      weight: 'notice',
      code: 'PREFLIGHT_EXPIRES_SOON',
      expected: 'a certificate that lasts for thirty days',
      got: `${subject} until ${new Date(notAfter * 1000).toISOString()}`,
      action: 'renew it before it ends: fetch it again, or update the firmware that holds it',
    }));
}
