/** A bundle of what is stored: the same rows give the same bytes. */
import { spelled } from '#attestation';
import { fromBase64, fromHex, to0x, toHex } from '#attestation/base';
import {
  domainSeparator,
  encodeTerms,
  escrowIdOf,
  noEndorsementRecord,
  parseEndorsements,
  parseSessionEvidence,
  runDigest,
  type BundledSession,
  type EndorsementRecord,
  type EvidenceBundle,
} from '#attestation/records';
import { openJob } from '../jobs/open-job.js';
import type { StoredRelease } from './release-check.js';
import { sealingSession } from './sealing-session.js';
import { partialsOf, placeOf, signedOf, transactionsOf, type StoredJob, type StoredSession } from './stored-job.js';

/** @param endorsements  every set that a stored verdict rested on */
export function bundleOf(stored: StoredJob, endorsements: readonly Uint8Array[]): EvidenceBundle {
  const { job, record, delivery, receipts, proofs } = stored;
  const run = runOf(stored);
  const { spec, terms } = openJob(job);
  const { chainId, contract } = spec.settlement;
  const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
    job: escrowIdOf(terms),
    ...run,
  });
  const sealing = sealingSession(stored, digest, (bytes) => parseSessionEvidence(bytes).binding.settlementKey);
  const seal = { session: sealing ?? placeOf(stored, record.leaseId), bytes: fromBase64(delivery.seal) };
  const { ciphertextDigest, keyCommit } = delivery.result;
  return {
    version: 4,
    spec: new Uint8Array(job.spec),
    terms: encodeTerms(terms),
    policy: new Uint8Array(job.policy),
    sessions: stored.sessions.map(sessionOf),
    endorsements: merged(endorsements.map(parseEndorsements)),
    segments: receipts.map((row, index) => ({
      statement: new Uint8Array(row.statement),
      signed: row.receipt.length === 0 ? null : signedOf(stored, row),
      proof: proofs?.get(Number(row.stepFrom)) ?? null,
      partials: job.parallel > 1 ? partialsOf(stored, index) : [],
    })),
    run,
    seal: delivery.seal === '' ? null : seal,
    delivery: { ciphertextDigest: fromHex(ciphertextDigest), keyCommit: fromHex(keyCommit) },
    settlement: { transactions: transactionsOf(stored) },
    ...evaluationsOf(stored),
  };
}

function runOf({ delivery }: StoredJob): EvidenceBundle['run'] {
  const { upTo, outcome, bordersRoot, last, delivery: delivered, keys } = delivery.run;
  return {
    ...{ upTo, outcome },
    ...{ bordersRoot: fromHex(bordersRoot), last: fromHex(last), delivery: fromHex(delivered), keys: fromHex(keys) },
  };
}

/** A job that does not evaluate has no such member. */
function evaluationsOf({ delivery, sessions }: StoredJob): Pick<EvidenceBundle, 'evaluations'> {
  const { evaluations = [] } = delivery;
  if (evaluations.length === 0) return {};
  const keys: string[] = sessions.map(({ evidence }) => to0x(parseSessionEvidence(evidence).binding.receiptKey));
  return {
    evaluations: evaluations.map(({ key, statement, receipt }) => {
      return { session: keys.indexOf(key), statement: fromBase64(statement), receipt: fromBase64(receipt) };
    }),
  };
}

/** As of the broker's verdict, which its signature dates; when this control plane came to its own shows nothing. */
function sessionOf({ evidence, result, resultSignature, release, lease }: StoredSession): BundledSession {
  const shown = { evidence, result, resultSignature: fromHex(resultSignature!) };
  if (lease !== null) {
    const { grantedAt, notAfter, signature } = lease;
    const grant = { grant: null, grantedAt, notAfter, signature: fromHex(signature) };
    return { ...shown, appraisedAt: grantedAt, grant, appraisals: [] };
  }
  const { grant, grantedAt, notAfter, releaseSignature, appraisals } = release as unknown as StoredRelease;
  return {
    ...shown,
    appraisedAt: grantedAt,
    grant: { grant: fromHex(grant), grantedAt, notAfter, signature: fromHex(releaseSignature) },
    appraisals: appraisals.map((one: StoredRelease['appraisals'][number]) => ({
      evidence: fromHex(one.evidence),
      notAfter: one.notAfter,
      signature: fromHex(one.signature),
    })),
  };
}

/** Every piece once, in its one spelling. */
function merged(sets: readonly EndorsementRecord[]): EndorsementRecord {
  const inOne = sets.map(spelled);
  const distinct = (name: keyof EndorsementRecord): Uint8Array[] => {
    const pieces = inOne.flatMap((set) => set[name]);
    return [...new Map(pieces.map((piece) => [toHex(piece), piece])).values()];
  };
  const names = Object.keys(noEndorsementRecord) as (keyof EndorsementRecord)[];
  return Object.fromEntries(names.map((name) => [name, distinct(name)])) as unknown as EndorsementRecord;
}
