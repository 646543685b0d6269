/** The sessions of a bundle: their evidence appraised again, with the endorsements that came with it. */
import { appraise, tierOrder, type AttestationResult } from '../appraisal/appraise.js';
import { endorsementsOfRecord } from '../appraisal/endorsements.js';
import { endorsementsOfSession, evidenceOfSession, noEndorsements, type Endorsements } from '../appraisal/evidence.js';
import type { AppraisalPolicy } from '../appraisal/policy.js';
import { equalBytes, isZero, toHex } from '../base/bytes.js';
import type { CheckBook } from '../check/checks.js';
import type { AnyBundle } from '../records/bundle.js';
import type { ReportedSession } from '../records/evidence.js';
import { needsTee } from '../records/job-spec.js';
import type { BundleContext } from './bundle-context.js';
import type { BundleCode } from './bundle-rules.js';
import { endorsementsAbout } from './endorsements-about.js';

/** @param at  unix seconds; absent: each session as of the time at which its evidence was fresh */
export async function appraiseSessions(
  { bundle, sessions }: BundleContext,
  policy: AppraisalPolicy,
  at: number | undefined,
): Promise<AttestationResult[]> {
  return Promise.all(
    sessions.map(async (session, index) => {
      const judged = materialsOf(bundle, session).map((material) =>
        appraise({
          evidence: evidenceOfSession(session),
          endorsements: endorsementsOfSession(session, material),
          policy,
          nonce: session.nonce,
          session: index,
          at: at ?? bundle.sessions[index]!.appraisedAt,
        }),
      );
      return (await Promise.all(judged)).reduce(better);
    }),
  );
}

/** One for each platform that Intel's collateral is of; sessions on other machines need none of it, or another's. */
function materialsOf(bundle: AnyBundle, session: ReportedSession): readonly Endorsements[] {
  if (bundle.version < 4) return [{ ...noEndorsements, ...(bundle as { endorsements: FormerMaterial }).endorsements }];
  const { endorsements } = bundle as Extract<AnyBundle, { version: 4 }>;
  const { intel, ...rest } = endorsementsAbout(endorsements, session);
  const platforms = intel.length === 0 ? [[]] : intel.map((one) => [one]);
  return platforms.map((one) => endorsementsOfRecord({ ...rest, intel: one }));
}

type FormerMaterial = Pick<Endorsements, 'crls' | 'rims'>;

function better(a: AttestationResult, b: AttestationResult): AttestationResult {
  return tierOrder.indexOf(b.tier) > tierOrder.indexOf(a.tier) ? b : a;
}

export function checkSessions(
  book: CheckBook<BundleCode>,
  { bundle, sessions, spec, terms }: BundleContext,
  results: readonly AttestationResult[],
): void {
  const tiers = results.map(({ tier }) => tier);
  const refused = tiers.findIndex((tier) => tier === 'contraindicated');
  const unknown = tiers.findIndex((tier) => tier === 'none');
  const stray = sessions.findIndex(
    ({ binding }) =>
      binding.chainId !== spec.settlement.chainId ||
      !(isZero(terms.provider) || equalBytes(binding.provider, terms.provider)),
  );
  const evidence = bundle.sessions.map((session) => toHex(session.evidence));
  const again = evidence.findIndex((one, index) => evidence.indexOf(one) < index);
  if (sessions.length === 0 && !needsTee(spec.assurance))
    book.settle('BUNDLE_SESSIONS', 'met', 'none: the job is proved');
  else if (sessions.length === 0) book.settle('BUNDLE_SESSIONS', 'missing', 'no session');
  else if (refused >= 0) book.settle('BUNDLE_SESSIONS', 'refused', `session ${refused} is contraindicated`);
  else if (stray >= 0)
    book.settle('BUNDLE_SESSIONS', 'refused', `session ${stray} is bound to another chain or provider`);
  else if (again >= 0) book.settle('BUNDLE_SESSIONS', 'refused', `session ${again} stands there twice`);
  else if (unknown >= 0) book.settle('BUNDLE_SESSIONS', 'missing', `nothing is known of session ${unknown}`);
  else book.settle('BUNDLE_SESSIONS', 'met', `${sessions.length} sessions: ${tiers.join(', ')}`);
}
