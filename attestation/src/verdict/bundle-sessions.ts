/** The sessions of a bundle: their evidence appraised again, with the endorsements that came with it. */
import { appraise, tierOrder, type AttestationResult } from '../appraisal/appraise.js';
import { endorsementsOfSession, evidenceOfSession, type Endorsements } from '../appraisal/evidence.js';
import { equalBytes, isZero, toHex } from '../base/bytes.js';
import type { CheckBook } from '../check/checks.js';
import type { ReportedSession } from '../records/evidence.js';
import { needsTee } from '../records/job-spec.js';
import type { BundleParts, Judgement } from './bundle-context.js';
import type { BundleCode } from './bundle-rules.js';

export async function appraiseSessions(
  { bundle, sessions }: BundleParts,
  materialsOf: (session: ReportedSession) => readonly Endorsements[],
  { policy, at, tick }: Judgement,
): Promise<AttestationResult[]> {
  const results: AttestationResult[] = [];
  for (const [index, session] of sessions.entries()) {
    const judged = materialsOf(session).map((material) =>
      appraise({
        evidence: evidenceOfSession(session),
        endorsements: endorsementsOfSession(session, material),
        policy,
        nonce: session.nonce,
        session: index,
        at: at ?? bundle.sessions[index]!.appraisedAt,
      }),
    );
    results.push((await Promise.all(judged)).reduce(better));
    await tick();
  }
  return results;
}

/** What two judgements can differ in. */
export function outcomeOf(results: readonly AttestationResult[]): string {
  return JSON.stringify(results.map(({ checks }) => checks.map(({ code, status }) => [code, status])));
}

function better(a: AttestationResult, b: AttestationResult): AttestationResult {
  return tierOrder.indexOf(b.tier) > tierOrder.indexOf(a.tier) ? b : a;
}

export function checkSessions(
  book: CheckBook<BundleCode>,
  { bundle, sessions, spec, terms }: BundleParts,
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
