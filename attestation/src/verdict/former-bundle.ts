/**
 * Bundles of versions 1 to 3 in the shape of version 4. One word of the broker stands for grant and appraisals in them, and
 * nothing shows whose the results are.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { endorsementsOfRecord } from '../appraisal/endorsements.js';
import type { AppraisalPolicy } from '../appraisal/policy.js';
import { recoverAddress } from '../base/address.js';
import { isZero, toHex } from '../base/bytes.js';
import { noEndorsementRecord } from '../records/endorsement-record.js';
import { segmentsOf, type FormerBundle } from '../records/former-bundle.js';
import {
  formerAppraisalDigest,
  formerDomainSeparator,
  formerRegistryDomainSeparator,
  formerRunDigest,
} from '../records/former-eip712.js';
import { parseFormerSessionEvidence } from '../records/former-evidence.js';
import { decodeFormerTerms } from '../records/former-terms.js';
import { partsOf, same, type BundleContext, type BundleParts } from './bundle-context.js';
import { dropLog } from './bundle-log.js';
import { checkTime } from './bundle-words.js';
import { merged } from './material.js';

/** @throws Rejection where a part cannot be read at all */
export function readFormerBundle(former: FormerBundle): BundleContext {
  const { crls, rims } = former.endorsements;
  const bundle = {
    ...former,
    segments: segmentsOf(former),
    endorsements: { ...noEndorsementRecord, crls, rims },
  };
  const parts = partsOf(bundle, {
    decodeTerms: decodeFormerTerms,
    parseEvidence: parseFormerSessionEvidence,
    areRounds: () => former.version === 3,
  });
  const { spec, escrowId, sessions } = parts;
  const { chainId, contract } = spec.settlement;
  const domain = formerDomainSeparator({ chainId, verifyingContract: contract });
  const unbound = sessions.flatMap((_, index) => ['appraisedAt', 'result'].map((name) => `sessions[${index}].${name}`));
  return {
    ...parts,
    sealedDigest: () => formerRunDigest(domain, { job: escrowId, ...bundle.run }),
    materialsOf: (_session, extra) => {
      const endorsements = endorsementsOfRecord(merged({ ...noEndorsementRecord, crls, rims }, extra.endorsements));
      return [{ ...endorsements, advisories: [...(endorsements.advisories ?? []), ...extra.advisories] }];
    },
    checkWords: async (book, policy) => {
      book.drop('BUNDLE_ENDORSEMENTS');
      book.drop('BUNDLE_GRANTS');
      book.drop('BUNDLE_RESULTS');
      await book.attempt('BUNDLE_APPRAISALS', () => checkFormerAppraisals(former, parts, policy));
    },
    checkLog: (book) => {
      dropLog(book);
      return Promise.resolve(null);
    },
    unbound,
    unused: () => Promise.resolve([]),
  };
}

/** Freshness rests on the broker's word, which is bound to these bytes. @throws Rejection BUNDLE_APPRAISALS */
function checkFormerAppraisals(
  bundle: FormerBundle,
  { sessions, spec, terms }: BundleParts,
  { resultSecondsMax }: AppraisalPolicy,
): string {
  const broker = toHex(isZero(terms.keyBroker) ? terms.client : terms.keyBroker);
  sessions.forEach(({ binding }, index) => {
    const { evidence, appraisal, appraisedAt } = bundle.sessions[index]!;
    checkTime('BUNDLE_APPRAISALS', appraisedAt, appraisal.notAfter, resultSecondsMax);
    const { chainId, registry, settlementKey, provider } = binding;
    const digest = formerAppraisalDigest(formerRegistryDomainSeparator({ chainId, verifyingContract: registry }), {
      key: settlementKey,
      policy: spec.policyDigest,
      provider,
      evidence: sha256(evidence),
      notAfter: appraisal.notAfter,
    });
    same('BUNDLE_APPRAISALS', broker, toHex(recoverAddress(digest, appraisal.signature)));
  });
  return `${sessions.length} by ${broker}`;
}
