/** Bundles of jobs that were ordered under terms of the former layout, as the release of then wrote them. */
import { fromBase64, fromHex, keccak } from '#attestation/base';
import {
  encodeFormerTerms,
  formerDomainSeparator,
  formerRunDigest,
  parseFormerSessionEvidence,
  parseFormerTermsJson,
  type FormerBundle,
} from '#attestation/records';
import { openJob } from '../jobs/open-job.js';
import { sealingSession } from './sealing-session.js';
import { partialsOf, placeOf, signedOf, transactionsOf, type StoredJob, type StoredSession } from './stored-job.js';

export function formerBundleOf(stored: StoredJob): FormerBundle {
  const { job, record, delivery, receipts, proofs } = stored;
  const terms = encodeFormerTerms(parseFormerTermsJson(job.terms));
  const { upTo, outcome, bordersRoot, last } = delivery.run;
  const run = {
    ...{ upTo, outcome, bordersRoot: fromHex(bordersRoot), last: fromHex(last) },
    delivery: fromHex(delivery.run.delivery),
  };
  const common = {
    spec: new Uint8Array(job.spec),
    terms,
    policy: new Uint8Array(job.policy),
    sessions: stored.sessions.map(sessionOf),
    endorsements: { crls: [], rims: [] },
    run,
    delivery: { ciphertextDigest: fromHex(delivery.result.blob), keyCommit: fromHex(delivery.result.keyCommit) },
    settlement: { transactions: transactionsOf(stored) },
  };
  const { chainId, contract } = openJob(job).spec.settlement;
  const domain = formerDomainSeparator({ chainId, verifyingContract: contract });
  const digest = formerRunDigest(domain, { job: keccak(terms), ...run });
  const sealing = sealingSession(stored, digest, (bytes) => parseFormerSessionEvidence(bytes).binding.settlementKey);
  const seal = { session: sealing ?? placeOf(stored, record.leaseId), bytes: fromBase64(delivery.seal) };
  const statementOf = (row: (typeof receipts)[number]) => new Uint8Array(row.statement);
  if (job.parallel > 1) {
    const segments = receipts.map((row, round) => ({
      ...signedOf(stored, row),
      statement: statementOf(row),
      partials: partialsOf(stored, round),
    }));
    return { version: 3, ...common, segments, seal };
  }
  if (proofs === null) {
    const segments = receipts.map((row) => ({ ...signedOf(stored, row), statement: statementOf(row) }));
    return { version: 1, ...common, segments, seal };
  }
  return {
    version: 2,
    ...common,
    segments: receipts.map((row) => ({
      statement: statementOf(row),
      signed: row.receipt.length === 0 ? null : signedOf(stored, row),
      proof: proofs.get(Number(row.stepFrom)) ?? null,
    })),
    seal: delivery.seal === '' ? null : seal,
  };
}

/** The row of a release held the Appraisal of then; that of a renewal holds its end and signature. */
function sessionOf({ evidence, result, appraisedAt, release, lease }: StoredSession) {
  const { notAfter, appraisalSignature } = (release ?? {}) as { notAfter: number; appraisalSignature: string };
  const appraisal = {
    notAfter: lease?.notAfter ?? notAfter,
    signature: fromHex(lease?.signature ?? appraisalSignature),
  };
  return { evidence, result, appraisedAt, appraisal };
}
