import { randomBytes } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { escrowIdOf, keysDigest } from '#attestation/records';
import type { EventOf } from '#libs/wire/channel';
import { holdEngine } from '#test/gated-engine';
import {
  jobRequest,
  tinyAt,
  tinyJob,
  tinyManifest,
  type Attested,
  type TinyJob,
  type TinySession,
} from '#test/tiny-job';
import { grantTo, present, signedLease } from '#test/tiny-release';

const windowSeconds = 60;
const job = await tinyJob();
const another = await tinyJob({ spec: { salt: new Uint8Array(32) } });
const long = await tinyJob({ manifest: tinyManifest({ steps: 40_000 }), segmentSteps: 4000 });
const strangerSecret = new Uint8Array(32).fill(0x5a);

/** A session that holds a job, on a clock of the test's. */
async function held(of: TinyJob = job) {
  const clock = { ms: 5_000_000 };
  const party = await present(() => clock.ms);
  const request = jobRequest(of, await grantTo(of, party, { seconds: windowSeconds }));
  await party.session.request('job', request);
  return { clock, request, ...party };
}

async function sendShards(session: TinySession, of: TinyJob = job): Promise<void> {
  for (const [index, ciphertext] of of.dataset.shards.entries()) await session.request('shard', { index, ciphertext });
}

/** What the broker gives for fresh evidence, `after` seconds after the release. */
async function renewal({ session, parsed }: Pick<Attested, 'session' | 'parsed'>, of: TinyJob, after: number) {
  const grantedAt = tinyAt + after;
  const nonce = new Uint8Array(randomBytes(32));
  const evidence = await session.request('attest', { nonce });
  const named = { job: escrowIdOf(of.terms), session: keysDigest(parsed.binding), policy: of.terms.policy };
  const lease = { ...named, evidence: sha256(evidence), nonce, grantedAt, notAfter: grantedAt + windowSeconds };
  return signedLease(lease);
}

const lapsed = { code: 'ATTESTATION_LAPSED' };
const shard = { index: 0, ciphertext: job.dataset.shards[0]! };

describe('a lease', () => {
  it('ends with its window: no shard is opened, nothing is trained, and no renewal counts any more', async () => {
    const { clock, ...party } = await held();
    const { session } = party;
    const late = await renewal(party, job, 10);
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
    const { clock, ...party } = await held();
    const { session } = party;
    for (let round = 1; round <= 4; round++) {
      clock.ms += 50_000;
      const renewed = await renewal(party, job, 50 * round);
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
    const { clock, ...party } = await held(long);
    const { session } = party;
    await sendShards(session, long);
    const gate = holdEngine(long.spec.segmentSteps);
    onTestFinished(gate.remove);
    await session.request('train', { checkpoint: null, threads: 1 });
    await gate.reached;
    const end = session.ended();
    for (let round = 1; round <= 3; round++) {
      clock.ms += 40_000;
      await session.request('renew', await renewal(party, long, 40 * round));
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
  it('before any job: REQUEST_ORDER', async () => {
    const party = await present();
    const renewed = await renewal(party, job, 1);
    await expect(party.session.request('renew', renewed)).rejects.toMatchObject({ code: 'REQUEST_ORDER' });
  });

  it('replayed, or older than the present one: LEASE_STALE', async () => {
    const { clock, ...party } = await held();
    const [older, newer] = [await renewal(party, job, 1), await renewal(party, job, 20)];
    clock.ms += 10_000;
    const newest = await renewal(party, job, 30);
    await party.session.request('renew', newest);
    for (const again of [newest, newer, older]) {
      await expect(party.session.request('renew', again)).rejects.toMatchObject({ code: 'LEASE_STALE' });
    }
  });

  it('over a nonce that was answered again: it counts from the first answer', async () => {
    const { clock, ...party } = await held();
    const first = await renewal(party, job, 1);
    clock.ms += 30_000;
    await party.session.request('attest', { nonce: first.lease.nonce });
    clock.ms += 29_999;
    await expect(party.session.request('renew', first)).rejects.toMatchObject({ code: 'LEASE_STALE' });
    clock.ms += 1;
    await expect(party.session.request('renew', first)).rejects.toMatchObject(lapsed);
  });

  it('A-C1 of another session, another escrow, another policy or another signer, or with other numbers', async () => {
    const { clock, ...party } = await held();
    const foreign = await renewal(await held(), job, 1);
    clock.ms += 5000;
    const own = await renewal(party, job, 5);
    const { lease, signature } = own;
    const [elsewhere, signer] = [{ code: 'LEASE_JOB' }, { code: 'LEASE_SIGNATURE' }];
    const forgeries = [
      [foreign, elsewhere],
      [signedLease({ ...lease, job: escrowIdOf(another.terms) }), elsewhere],
      [signedLease({ ...lease, policy: new Uint8Array(32) }), elsewhere],
      [signedLease(lease, strangerSecret), signer],
      [{ lease: { ...lease, notAfter: lease.notAfter + 1 }, signature }, signer],
      [{ lease: { ...lease, grantedAt: lease.grantedAt - 1 }, signature }, signer],
      [{ lease: { ...lease, nonce: party.parsed.nonce }, signature }, signer],
      [{ lease: { ...lease, evidence: new Uint8Array(32) }, signature }, signer],
    ] as const;
    for (const [forged, why] of forgeries) {
      await expect(party.session.request('renew', forged)).rejects.toMatchObject(why);
    }
    await party.session.request('renew', own);
  });

  it('signed by the broker, for evidence that this session never made: LEASE_NONCE', async () => {
    const { clock: _clock, ...party } = await held();
    const { lease } = await renewal(party, job, 1);
    const forged = signedLease({ ...lease, nonce: new Uint8Array(32), notAfter: tinyAt + 1000 });
    await expect(party.session.request('renew', forged)).rejects.toMatchObject({ code: 'LEASE_NONCE' });
  });
});
