/** Finds the parts of a version 4 bundle that could be altered without any change of the verdict. */
import type { AttestationResult } from '../appraisal/appraise.js';
import type { BundleParts, Judgement } from './bundle-context.js';
import { appraiseSessions, outcomeOf } from './bundle-sessions.js';
import { materialsWith } from './endorsements-about.js';

/** At most so many verdicts are computed again to find them; beyond that the list names the endorsements as a whole. */
const verdictsMax = 1024;

/**
 * Names endorsements (`endorsements.crls[0]`) that change no check of any session when each is left out alone.
 * @param judged  the results with all of them
 */
export async function unusedEndorsements(
  parts: BundleParts,
  judgement: Judgement,
  judged: readonly AttestationResult[],
): Promise<string[]> {
  const { endorsements, sessions } = parts.bundle;
  const pieces = Object.values(endorsements).reduce((sum, items) => sum + items.length, 0);
  if (pieces * sessions.length > verdictsMax) return ['endorsements'];
  const expected = outcomeOf(judged);
  const unused: string[] = [];
  for (const [kind, items] of Object.entries(endorsements)) {
    for (const index of items.keys()) {
      const rest = { ...endorsements, [kind]: items.filter((_, other) => other !== index) };
      const without = await appraiseSessions(
        parts,
        (session) => materialsWith(rest, session, judgement.extra),
        judgement,
      );
      if (outcomeOf(without) === expected) {
        unused.push(`endorsements.${kind}[${index}]`);
      }
    }
  }
  return unused;
}
