/** A bundle of any version, read for the checks: the one place that asks which version it is. */
import { misspelled } from '../appraisal/spelling.js';
import type { Digest } from '../base/digest.js';
import { parseBundle, type EvidenceBundle } from '../records/bundle.js';
import { domainSeparator, runDigest } from '../records/eip712.js';
import { parseSessionEvidence } from '../records/evidence.js';
import { workersOf } from '../records/round.js';
import { decodeTerms } from '../records/terms.js';
import { partsOf, type BundleContext } from './bundle-context.js';
import { checkLog } from './bundle-log.js';
import { checkRunKeys } from './bundle-run.js';
import { unusedEndorsements } from './bundle-unused.js';
import { checkAppraisals, checkGrants, checkResults } from './bundle-words.js';
import { materialsWith } from './endorsements-about.js';
import { readFormerBundle } from './former-bundle.js';

/** @throws Rejection where a part cannot be read at all */
export function readBundle(encoded: Uint8Array): BundleContext {
  const bundle = parseBundle(encoded);
  return bundle.version === 4 ? readPresentBundle(bundle) : readFormerBundle(bundle);
}

function readPresentBundle(bundle: EvidenceBundle): BundleContext {
  const parts = partsOf(bundle, {
    decodeTerms,
    parseEvidence: parseSessionEvidence,
    areRounds: (spec) => workersOf(spec) > 1,
  });
  const sealedDigest = (): Digest => {
    checkRunKeys(parts, bundle);
    const { chainId, contract } = parts.spec.settlement;
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    return runDigest(domain, { job: parts.escrowId, ...bundle.run });
  };
  return {
    ...parts,
    sealedDigest,
    materialsOf: (session, extra) => materialsWith(bundle.endorsements, session, extra),
    checkWords: async (book, policy, results) => {
      const other = misspelled(bundle.endorsements);
      book.settle('BUNDLE_ENDORSEMENTS', other === undefined ? 'met' : 'refused', other ?? 'each');
      await book.attempt('BUNDLE_GRANTS', () => checkGrants(parts, policy));
      await book.attempt('BUNDLE_APPRAISALS', () => checkAppraisals(parts));
      await book.attempt('BUNDLE_RESULTS', () => checkResults(parts, results));
    },
    checkLog: (book, asked) => checkLog(book, { ...parts, log: bundle.log }, asked),
    unbound: [],
    unused: (judgement, results) => unusedEndorsements(parts, judgement, results),
  };
}
