/** A data owner who is also the host continues a run from weights of their own: sealed it is, shown it is not. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkpointKey, openCheckpoint, sealCheckpoint } from '../../enclave/src/checkpoint.js';
import type { EventOf } from '../../enclave/src/channel/messages.js';
import { createSessionKeys } from '../../enclave/src/keys.js';
import {
  domainSeparator,
  encodeBundle,
  encodeStepStatement,
  keyCommitment,
  parseStepStatement,
  recoverAddress,
  runDigest,
  jobDigest,
  signReceipt,
  verifyBundle,
  weightsDigest,
  type AttestedBundle,
} from '#attestation';
import { commitWeights, decodeWeights } from '#libs/step';
import { tinyBundle } from '#test/tiny-bundle';
import { chainId, contract, keyed, provider, registry, tinyAt, tinyJob } from '#test/tiny-job';

const job = await tinyJob();
const { bundle: honest } = await tinyBundle();
const begun = parseStepStatement(honest.segments[0]!.statement);

/** The checkpoint that the first session made, with one weight moved and borders to match: only the data key is needed. */
async function forged(): Promise<{ readonly checkpoint: Uint8Array; readonly border: Uint8Array }> {
  const first = await keyed(job);
  await first.session.request('train', { checkpoint: null, threads: 1 });
  await first.session.ended();
  const made = first.session.events.find((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint')!;
  const key = await checkpointKey(job.dataset.key, job.jobId);
  const lawful = await openCheckpoint(key, job.jobId, made.ciphertext);
  const weights = lawful.weights.map((byte, at) => (at === 0 ? byte ^ 1 : byte));
  const border = weightsDigest(commitWeights('state-keccak', job.manifest, decodeWeights(job.manifest, weights)));
  const changed = { ...lawful, weights, borders: [lawful.borders[0]!, border] };
  return { checkpoint: await sealCheckpoint(key, job.jobId, changed), border };
}

const { checkpoint, border } = await forged();
const party = await keyed(job);
await party.session.request('train', { checkpoint, threads: 1 });
const end = (await party.session.ended()) as EventOf<'result'>;
const segments = party.session.events
  .filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint')
  .map(({ statement, receipt }) => ({ session: 1, statement, receipt }));

/** Everything that the two can show of that run, with `earlier` for the segment that nobody computed. */
async function verdictWith(earlier: AttestedBundle['segments']) {
  const { evidence, released } = party;
  const bundle: AttestedBundle = {
    ...honest,
    sessions: [
      honest.sessions[0]!,
      {
        evidence,
        result: released.result.signed,
        appraisedAt: tinyAt,
        appraisal: { notAfter: released.appraisal.notAfter, signature: released.appraisalSignature },
      },
    ],
    segments: [...earlier, ...segments],
    run: end.run,
    seal: { session: 1, bytes: end.seal },
    delivery: {
      ciphertextDigest: new Uint8Array(createHash('sha256').update(end.ciphertext).digest()),
      keyCommit: keyCommitment(end.revealKey),
    },
  };
  const { tier, checks } = await verifyBundle({ bundle: encodeBundle(bundle) });
  return {
    tier,
    against: checks.filter(({ status }) => status === 'forged' || status === 'refused').map(({ code }) => code),
  };
}

describe('a run from a forged checkpoint', () => {
  it('is sealed by the enclave: the seal alone does not tell', () => {
    const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
      job: jobDigest(job.terms),
      ...end.run,
    });
    expect(recoverAddress(digest, end.seal.subarray(4))).toEqual(party.parsed.binding.settlementKey);
    expect(end.borders[1]).toEqual(border);
  });

  it('is refused as a bundle without a receipt for the segment that nobody computed', async () => {
    expect(await verdictWith([])).toEqual({ tier: 'contraindicated', against: ['BUNDLE_CHAIN', 'BUNDLE_RUN'] });
  });

  it('is refused with the honest receipt in its place, which ends in other weights', async () => {
    const verdict = await verdictWith([honest.segments[0]!]);
    expect(verdict).toEqual({ tier: 'contraindicated', against: ['BUNDLE_CHAIN', 'BUNDLE_RUN'] });
  });

  it('is refused with a receipt by a key that no evidence binds', async () => {
    const keys = await createSessionKeys({ provider, chainId, registry });
    const statement = { ...begun, weightsAfter: border };
    const receipt = await signReceipt(statement, keys.binding.receiptKey, keys.signReceipt);
    for (const session of [0, 1]) {
      const verdict = await verdictWith([{ session, statement: encodeStepStatement(statement), receipt }]);
      expect(verdict).toEqual({ tier: 'contraindicated', against: ['COSE_KEY_ID'] });
    }
  });
});
