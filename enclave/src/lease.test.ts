import { describe, expect, it, onTestFinished } from 'vitest';
import { sessionLeaseDigest, signRecoverable, toHex, type SessionLease } from '#attestation';
import type { EventOf } from './channel/messages.js';
import { holdEngine } from '#test/gated-engine';
import {
  attested,
  jobRequest,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyJob,
  tinyManifest,
  type TinyBroker,
  type TinyJob,
  type TinySession,
} from '#test/tiny-job';

const windowSeconds = 60;
const short = { validForSeconds: windowSeconds };
const job = await tinyJob();
const another = await tinyJob({ spec: { salt: new Uint8Array(32) } });
const long = await tinyJob({ manifest: tinyManifest({ steps: 40_000 }), segmentSteps: 4000 });
const strangerSecret = new Uint8Array(32).fill(0x5a);

/** A session that holds a job, on a clock of the test's. */
async function held(of: TinyJob = job) {
  const clock = { ms: 5_000_000 };
  const parties = await tinyBroker(of, short);
  const party = await attested(of, parties, () => clock.ms);
  const { sealedKey } = await parties.broker.release(releaseRequest(of, party.evidence), tinyAt);
  const request = jobRequest(of, sealedKey);
  await party.session.request('job', request);
  return { clock, parties, request, ...party };
}

async function sendShards(session: TinySession, of: TinyJob = job): Promise<void> {
  for (const [index, ciphertext] of of.dataset.shards.entries()) await session.request('shard', { index, ciphertext });
}

/** What the broker gives for fresh evidence, `after` seconds after the release. */
async function renewal({ broker, nonces }: TinyBroker, session: TinySession, of: TinyJob, after: number) {
  const at = tinyAt + after;
  const { nonce } = nonces.issue(toHex(of.jobId), at, '127.0.0.1');
  const evidence = await session.request('attest', { nonce });
  const { lease, leaseSignature } = await broker.renew(releaseRequest(of, evidence), at);
  return { ...lease, signature: leaseSignature };
}

const lapsed = { code: 'ATTESTATION_LAPSED' };
const shard = { index: 0, ciphertext: job.dataset.shards[0]! };

describe('a lease', () => {
  it('ends with its window: no shard is opened, nothing is trained, and no renewal counts any more', async () => {
    const { clock, parties, session } = await held();
    const late = await renewal(parties, session, job, 10);
    clock.ms += 1000 * windowSeconds - 1;
    await session.request('shard', shard);
    clock.ms += 1;
    await expect(session.request('shard', { index: 1, ciphertext: job.dataset.shards[1]! })).rejects.toMatchObject(
      lapsed,
    );
    await expect(session.request('train', { checkpoint: null, threads: 1 })).rejects.toMatchObject(lapsed);
    await expect(session.request('renew', late)).rejects.toMatchObject(lapsed);
  });

  it('is prolonged by every renewal, from the moment at which the evidence was made', async () => {
    const { clock, parties, session } = await held();
    for (let round = 1; round <= 4; round++) {
      clock.ms += 50_000;
      const renewed = await renewal(parties, session, job, 50 * round);
      await session.request('renew', renewed);
    }
    clock.ms += 1000 * windowSeconds - 1;
    await session.request('shard', shard);
    clock.ms += 1;
    await expect(session.request('shard', shard)).rejects.toMatchObject(lapsed);
  });

  it('that ends in training stops it: no receipt and no seal come after', async () => {
    const { clock, session } = await held(long);
    await sendShards(session, long);
    session.onEvent(({ type }) => (clock.ms += type === 'checkpoint' ? 1000 * windowSeconds : 0));
    await session.request('train', { checkpoint: null, threads: 1 });
    expect(await session.ended()).toMatchObject({ type: 'failed', ...lapsed });
    expect(session.events.filter(({ type }) => type === 'checkpoint')).toHaveLength(1);
  });

  it('is prolonged in training without a stop, and the run ends in the same borders', async () => {
    const undisturbed = await held(long);
    await sendShards(undisturbed.session, long);
    await undisturbed.session.request('train', { checkpoint: null, threads: 1 });
    const { borders } = (await undisturbed.session.ended()) as EventOf<'result'>;
    const { clock, parties, session } = await held(long);
    await sendShards(session, long);
    const gate = holdEngine(long.spec.segmentSteps);
    onTestFinished(gate.remove);
    await session.request('train', { checkpoint: null, threads: 1 });
    await gate.reached;
    const end = session.ended();
    for (let round = 1; round <= 3; round++) {
      clock.ms += 40_000;
      await session.request('renew', await renewal(parties, session, long, 40 * round));
    }
    gate.open();
    expect(((await end) as EventOf<'result'>).borders).toEqual(borders);
  }, 120_000);

  it('cannot be begun anew with the key release that began it', async () => {
    const { clock, session, request, parsed } = await held();
    clock.ms += 1000 * windowSeconds;
    await session.request('attest', { nonce: parsed.nonce });
    await expect(session.request('job', request)).rejects.toMatchObject(lapsed);
  });
});

describe('a forged renewal', () => {
  const signedBy =
    (secret: Uint8Array, of: TinyJob, binding: Parameters<typeof sessionLeaseDigest>[1]) => (lease: SessionLease) => ({
      ...lease,
      signature: signRecoverable(sessionLeaseDigest(of.jobId, binding, lease), secret),
    });

  it('before any job: REQUEST_ORDER', async () => {
    const parties = await tinyBroker(job, short);
    const { session, parsed } = await attested(job, parties);
    const lease = { nonce: parsed.nonce, grantedAt: tinyAt, notAfter: tinyAt + 1 };
    const renewed = { ...lease, signature: new Uint8Array(65) };
    await expect(session.request('renew', renewed)).rejects.toMatchObject({ code: 'REQUEST_ORDER' });
  });

  it('replayed, or older than the present one: LEASE_STALE', async () => {
    const { parties, session, clock } = await held();
    const [older, newer] = [await renewal(parties, session, job, 1), await renewal(parties, session, job, 20)];
    clock.ms += 10_000;
    const newest = await renewal(parties, session, job, 30);
    await session.request('renew', newest);
    for (const again of [newest, newer, older]) {
      await expect(session.request('renew', again)).rejects.toMatchObject({ code: 'LEASE_STALE' });
    }
  });

  it('over a nonce that was answered again: it counts from the first answer', async () => {
    const { parties, session, clock } = await held();
    const first = await renewal(parties, session, job, 1);
    clock.ms += 30_000;
    await session.request('attest', { nonce: first.nonce });
    clock.ms += 29_999;
    await expect(session.request('renew', first)).rejects.toMatchObject({ code: 'LEASE_STALE' });
    clock.ms += 1;
    await expect(session.request('renew', first)).rejects.toMatchObject(lapsed);
  });

  it('of another session, another job, another signer, or with other numbers: LEASE_SIGNATURE', async () => {
    const { parties, session, parsed, clock } = await held();
    const other = await held();
    const foreign = await renewal(other.parties, other.session, job, 1);
    clock.ms += 5000;
    const own = await renewal(parties, session, job, 5);
    const lease = { nonce: own.nonce, grantedAt: own.grantedAt, notAfter: own.notAfter };
    const brokers = signedBy(parties.config.signingSecret, another, parsed.binding);
    const forgeries = [
      foreign,
      brokers(lease),
      signedBy(strangerSecret, job, parsed.binding)(lease),
      { ...own, notAfter: own.notAfter + 1 },
      { ...own, grantedAt: own.grantedAt - 1 },
      { ...own, nonce: parsed.nonce },
    ];
    for (const forged of forgeries) {
      await expect(session.request('renew', forged)).rejects.toMatchObject({ code: 'LEASE_SIGNATURE' });
    }
    await session.request('renew', own);
  });

  it('signed by the broker, for evidence that this session never made: LEASE_NONCE', async () => {
    const { parties, session, parsed } = await held();
    const lease = { nonce: new Uint8Array(32), grantedAt: tinyAt, notAfter: tinyAt + 1000 };
    const forged = signedBy(parties.config.signingSecret, job, parsed.binding)(lease);
    await expect(session.request('renew', forged)).rejects.toMatchObject({ code: 'LEASE_NONCE' });
  });
});
