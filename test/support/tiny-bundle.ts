/** A bundle of a tiny job that two enclave sessions worked on, made by every party's real code. */
import { encodeBundle, encodeJobSpec, encodeTerms, keyCommitment, type AttestedBundle } from '#attestation';
import { createHash } from 'node:crypto';
import type { EventOf } from '../../enclave/src/channel/messages.js';
import { keyed, policyBytes, tinyAt, tinyJob, type Keyed, type TinyJob, type TinyJobOptions } from './tiny-job.js';

export interface TinyBundle {
  readonly job: TinyJob;
  readonly bundle: AttestedBundle;
  readonly encoded: Uint8Array;
  /** The sealed result. */
  readonly ciphertext: Uint8Array;
}

export async function tinyBundle(options: TinyJobOptions = {}): Promise<TinyBundle> {
  const job = await tinyJob(options);
  const first = await keyed(job);
  await first.session.request('train', { checkpoint: null, threads: 1 });
  await first.session.ended();
  const second = await keyed(job);
  const [begun] = checkpointsOf(first);
  await second.session.request('train', { checkpoint: begun!.ciphertext, threads: 1 });
  const end = (await second.session.ended()) as EventOf<'result'>;
  const segment = (session: number) => (event: EventOf<'checkpoint'>) => {
    const { statement, receipt } = event;
    return { session, statement, receipt };
  };
  const bundle: AttestedBundle = {
    version: 1,
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    policy: policyBytes(job),
    sessions: [first, second].map(({ evidence, released }) => ({
      evidence,
      result: released.result.signed,
      appraisedAt: tinyAt,
      appraisal: { notAfter: released.appraisal.notAfter, signature: released.appraisalSignature },
    })),
    endorsements: { crls: [], rims: [] },
    segments: [segment(0)(begun!), ...checkpointsOf(second).map(segment(1))],
    run: end.run,
    seal: { session: 1, bytes: end.seal },
    delivery: {
      ciphertextDigest: new Uint8Array(createHash('sha256').update(end.ciphertext).digest()),
      keyCommit: keyCommitment(end.revealKey),
    },
    settlement: { transactions: [{ call: 'finalize', hash: new Uint8Array(32).fill(5) }] },
  };
  return { job, bundle, encoded: encodeBundle(bundle), ciphertext: end.ciphertext };
}

function checkpointsOf({ session }: Keyed): EventOf<'checkpoint'>[] {
  return session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
}
