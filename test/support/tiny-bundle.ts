/** A bundle of a tiny job that two enclave sessions worked on, made by every party's real code. */
import {
  ciphertextDigest,
  encodeBundle,
  encodeJobSpec,
  encodeTerms,
  keyCommitment,
  parseEndorsements,
  type BundledSession,
  type EvidenceBundle,
} from '#attestation/records';
import type { EventOf } from '#libs/wire/channel';
import type { Released } from '../../apps/key-broker/src/release.js';
import {
  attested,
  jobRequest,
  policyBytes,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyJob,
  type Attested,
  type TinyBroker,
  type TinyJob,
  type TinyJobOptions,
} from './tiny-job.js';

interface TinyBundle {
  readonly job: TinyJob;
  readonly bundle: EvidenceBundle;
  readonly encoded: Uint8Array;
  /** The sealed result. */
  readonly ciphertext: Uint8Array;
}

/** A session to which the key broker itself released the data key. */
interface ReleasedSession extends Attested {
  readonly released: Released;
}

/** A session that holds the job and all its shards. */
export async function releasedTo(job: TinyJob, party: TinyBroker): Promise<ReleasedSession> {
  const one = await attested(job, party);
  const released = await party.broker.release(releaseRequest(job, one.evidence), tinyAt);
  const { release, releaseSignature: signature, sealedKey } = released;
  await one.session.request('job', jobRequest(job, { release, signature, sealedKey }));
  for (const [index, ciphertext] of job.dataset.shards.entries()) {
    await one.session.request('shard', { index, ciphertext });
  }
  return { ...one, released };
}

/** As a bundle shows it. */
export function shownSession(evidence: Uint8Array, { release, releaseSignature, result }: Released): BundledSession {
  const { grant, grantedAt, notAfter } = release;
  return {
    ...{ evidence, result: result.signed, resultSignature: result.signature, appraisedAt: tinyAt },
    grant: { grant, grantedAt, notAfter, signature: releaseSignature },
    appraisals: [],
  };
}

export async function tinyBundle(options: TinyJobOptions = {}): Promise<TinyBundle> {
  const job = await tinyJob(options);
  const party = await tinyBroker(job);
  const first = await releasedTo(job, party);
  await first.session.request('train', { checkpoint: null, threads: 1 });
  await first.session.ended();
  const second = await releasedTo(job, party);
  const [begun] = checkpointsOf(first);
  await second.session.request('train', { checkpoint: begun!.ciphertext, threads: 1 });
  const end = (await second.session.ended()) as EventOf<'result'>;
  const segment = (session: number) => (event: EventOf<'checkpoint'>) => {
    const { statement, receipt } = event;
    return { statement, signed: { session, receipt }, proof: null, partials: [] };
  };
  const bundle: EvidenceBundle = {
    version: 4,
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    policy: policyBytes(job),
    sessions: [first, second].map(({ evidence, released }) => shownSession(evidence, released)),
    endorsements: parseEndorsements(first.released.result.endorsements),
    segments: [segment(0)(begun!), ...checkpointsOf(second).map(segment(1))],
    run: end.run,
    seal: { session: 1, bytes: end.seal },
    delivery: { ciphertextDigest: ciphertextDigest(end.ciphertext), keyCommit: keyCommitment(end.revealKey) },
    settlement: { transactions: [{ call: 'finalize', hash: new Uint8Array(32).fill(5) }] },
  };
  return { job, bundle, encoded: encodeBundle(bundle), ciphertext: end.ciphertext };
}

function checkpointsOf({ session }: Attested): EventOf<'checkpoint'>[] {
  return session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
}
