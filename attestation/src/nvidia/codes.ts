/** What is demanded of GPU evidence: one rule per code (attestation/EVIDENCE.md §3, §4). */
import type { CheckRule } from '../check/checks.js';
import type { RimAspect } from './rim.js';

const rule = (
  claim: CheckRule['claim'],
  expected: string,
  sentence: string,
  source: string,
  action: string,
): CheckRule => ({ claim, expected, rule: sentence, source, action });

const collectAgain = 'collect new evidence from the device';
const distrust = 'do not use this device';

/** Rules of authenticity: all must hold before any claim is handed on. */
export const authenticityRules = {
  NVIDIA_REPORT_FORM: rule(
    'instance-identity',
    'one SPDM 1.1 measurement report',
    'The report is strictly encoded, with nothing before, between or after its parts.',
    'DSP0274 1.1 §10.11; attestation/EVIDENCE.md §3.1',
    collectAgain,
  ),
  NVIDIA_REPORT_FIELDS: rule(
    'instance-identity',
    'driver, VBIOS and board fields',
    'The opaque data names driver, VBIOS and board in the documented form.',
    'attestation/EVIDENCE.md §3.2',
    collectAgain,
  ),
  NVIDIA_CHAIN_FORM: rule(
    'instance-identity',
    'certificates in strict DER',
    'Every certificate of the device chain can be read.',
    'RFC 5280 §4',
    collectAgain,
  ),
  NVIDIA_LEAF: rule(
    'instance-identity',
    'the attestation key of a Hopper or Blackwell GPU',
    'The first certificate belongs to a GPU attestation key and names device and firmware.',
    'attestation/EVIDENCE.md §3.3',
    collectAgain,
  ),
  NVIDIA_CHAIN: rule(
    'instance-identity',
    'a path to the pinned NVIDIA device root',
    'The chain, leaf first and complete, ends at a root pinned by its key.',
    'RFC 5280 §6.1; attestation/EVIDENCE.md §1, §3.3',
    distrust,
  ),
  NVIDIA_REPORT_SIGNATURE: rule(
    'instance-identity',
    'a signature by the leaf key',
    'The leaf key signed request and response (ECDSA P-384, SHA-384).',
    'DSP0274 1.1 §10.11; attestation/EVIDENCE.md §3.1',
    distrust,
  ),
  NVIDIA_FWID_MISMATCH: rule(
    'executables',
    'the firmware id of the certificate',
    'The report comes from the firmware that the boot ROM certified.',
    'DICE Attestation Architecture §6; attestation/EVIDENCE.md §3.3',
    distrust,
  ),
} as const;

type RimCode = `NVIDIA_${'DRIVER' | 'VBIOS'}_RIM_${RimAspect | 'ABSENT' | 'VERSION'}`;

const fetchRim = 'fetch the current manifest from the RIM service';

/** Rules for one reference manifest, whoever it is for. */
export const rimRules: Readonly<Record<RimAspect, CheckRule>> = {
  FORM: rule(
    'executables',
    'a signed SWID tag',
    'The manifest is strict XML with one signature over all of it.',
    'XML Signature §4; attestation/EVIDENCE.md §3.5',
    fetchRim,
  ),
  ISSUER: rule(
    'executables',
    'a path to the pinned NVIDIA RIM root',
    'The signer of the manifest descends from the pinned RIM root.',
    'RFC 5280 §6.1; attestation/EVIDENCE.md §3.5',
    fetchRim,
  ),
  SIGNATURE: rule(
    'executables',
    'digest and signature of the signer',
    'The manifest is the document that its signer signed.',
    'XML Signature §3.2; attestation/EVIDENCE.md §3.5',
    fetchRim,
  ),
  NOT_YET_VALID: rule(
    'executables',
    'notBefore ≤ at',
    "The signer's certificates are valid already.",
    'RFC 5280 §6.1.3',
    'verify at a later time',
  ),
  EXPIRED: rule(
    'executables',
    'notAfter ≥ at',
    "The signer's certificates are still valid.",
    'RFC 5280 §6.1.3; attestation/EVIDENCE.md §3.5',
    'fetch a manifest that NVIDIA signed again, or allow a grace period',
  ),
};

function roleRules(role: 'DRIVER' | 'VBIOS'): Readonly<Record<string, CheckRule>> {
  const prefix = `NVIDIA_${role}_RIM`;
  const what = role === 'DRIVER' ? 'driver' : 'VBIOS';
  const common = Object.entries(rimRules).map(([aspect, value]) => [`${prefix}_${aspect}`, value] as const);
  const absent = `A reference manifest for the ${what} is at hand.`;
  const version = `The manifest is for exactly the reported ${what} version and chip.`;
  return {
    [`${prefix}_ABSENT`]: rule('executables', `a ${what} manifest`, absent, 'attestation/EVIDENCE.md §3.5', fetchRim),
    ...Object.fromEntries(common),
    [`${prefix}_VERSION`]: rule(
      'executables',
      'the reported version',
      version,
      'attestation/EVIDENCE.md §3.5',
      fetchRim,
    ),
  };
}

const revocationSource = 'RFC 6960 §2.2, §4.2; attestation/EVIDENCE.md §3.4';
const revocation = (expected: string, sentence: string, action: string): CheckRule =>
  rule('instance-identity', expected, sentence, revocationSource, action);
const askAgain = 'ask the OCSP responder again';

/** Rules about authentic evidence; what is not affirmed here a policy may still demand or waive. */
export const appraisalRules = {
  NVIDIA_NONCE: rule(
    'instance-identity',
    'the nonce of this verification',
    'The signed request carries the nonce that the verifier chose.',
    'attestation/EVIDENCE.md §4',
    'collect the report with the right nonce',
  ),
  NVIDIA_FWID_ABSENT: rule(
    'executables',
    'a firmware id in the report',
    'The report names the firmware that signed it.',
    'attestation/EVIDENCE.md §3.3',
    'update the GPU firmware and driver',
  ),
  ...(roleRules('DRIVER') as Record<Extract<RimCode, `NVIDIA_DRIVER_${string}`>, CheckRule>),
  ...(roleRules('VBIOS') as Record<Extract<RimCode, `NVIDIA_VBIOS_${string}`>, CheckRule>),
  NVIDIA_RIM_INDEX_CONFLICT: rule(
    'executables',
    'every index active in one manifest',
    'The two manifests do not claim the same measurement.',
    'attestation/EVIDENCE.md §3.5',
    fetchRim,
  ),
  NVIDIA_MEASUREMENT_MISMATCH: rule(
    'executables',
    'all golden measurements',
    'Every active golden measurement of both manifests equals the reported one.',
    'attestation/EVIDENCE.md §3.5',
    distrust,
  ),
  NVIDIA_CERTIFICATE_REVOKED: revocation('none revoked', 'No certificate of device or manifests is revoked.', distrust),
  NVIDIA_CERTIFICATE_ON_HOLD: revocation('none on hold', 'No certificate is suspended.', 'ask NVIDIA about the hold'),
  NVIDIA_CERTIFICATE_UNKNOWN: revocation('none unknown', 'The responder knows every certificate.', askAgain),
  NVIDIA_OCSP_STALE: revocation('current answers', 'thisUpdate ≤ at ≤ nextUpdate in every answer.', askAgain),
  NVIDIA_OCSP_FORGED: revocation(
    'authorised answers',
    'The issuer authorised every answer to this question.',
    askAgain,
  ),
  NVIDIA_OCSP_MISSING: revocation('an answer for each', 'Every certificate to be checked has an answer.', askAgain),
  NVIDIA_CC_MODE_OFF: rule(
    'configuration',
    'confidential computing on, production environment',
    'The guest saw every GPU in confidential-computing mode.',
    'attestation/EVIDENCE.md §3.2, §6',
    'turn on confidential computing on the host',
  ),
  NVIDIA_CC_DEVTOOLS: rule(
    'configuration',
    'developer tools off',
    'Debugging tools cannot read protected memory.',
    'attestation/EVIDENCE.md §6',
    'turn off DevTools mode',
  ),
} as const;

export type AuthenticityCode = keyof typeof authenticityRules;
export type AppraisalCode = keyof typeof appraisalRules;
