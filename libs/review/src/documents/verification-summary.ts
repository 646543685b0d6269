/** SLSA verification summary v1 (slsa.dev/spec/v1.2/verification_summary): who verified what by which policy. */
import { statementType, subjectsOf, type Statement } from './in-toto.js';
import type { ModelFile } from './model-files.js';
import { releaseVersion } from '../text/release.js';
import { isoTime } from './time.js';
import type { Training } from './training.js';

/** @param at unix seconds of the verification */
export function verificationSummary(training: Training, files: readonly ModelFile[], at: number): Statement {
  const { bundle, jobId, verdict } = training;
  return {
    _type: statementType,
    subject: subjectsOf(training, files),
    predicateType: 'https://slsa.dev/verification_summary/v1',
    predicate: {
      verifier: { id: 'urn:veritrain:verifier', version: { veritrain: releaseVersion } },
      timeVerified: isoTime(at),
      resourceUri: `urn:veritrain:job:${jobId}`,
      policy: {
        uri: 'urn:veritrain:policy',
        ...(verdict.policySha256 !== null && { digest: { sha256: verdict.policySha256 } }),
      },
      inputAttestations: [{ uri: `urn:veritrain:bundle:${jobId}`, digest: { sha256: bundle.sha256 } }],
      verificationResult: isPassed(training) ? 'PASSED' : 'FAILED',
      verifiedLevels: isPassed(training) ? [levelOf(training)] : [],
    },
  };
}

/** Simulated hardware shows nothing about a machine, so that nobody may take it for a pass. */
function isPassed({ verdict: { tier, simulated } }: Training): boolean {
  return !simulated && (tier === 'affirming' || tier === 'warning');
}

/** A level of this project: by what every step is vouched for. */
const levelOf = ({ weights }: Training): string => `VERITRAIN_TRAINING_${weights.basis.toUpperCase()}`;
