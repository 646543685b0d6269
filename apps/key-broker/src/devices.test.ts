/** What serves one session at a time: a guest by its launch, a GPU. */
import { describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { keysDigest } from '#attestation/records';
import { evidenceBytesBy, testSession, type TestSession } from '#test/tiny-evidence';
import { releaseRequest, tinyAt, tinyBroker, tinyJob, type TinyBroker } from '#test/tiny-job';
import { openJournal } from './journal.js';
import type { MachineIdentity } from './session-index.js';
import { openSessionStore } from './sessions.js';

const otherProvider = new Uint8Array(20).fill(0x34);
const job = await tinyJob({ terms: { provider: new Uint8Array(20) } });
const seconds = 60;
const own = await testSession(1);
const later = await testSession(2);
const foreign = await testSession(3, { provider: otherProvider });
const elsewhere = await testSession(4, { provider: otherProvider });

async function asked({ nonces }: TinyBroker, session: TestSession, reportId: Uint8Array, after: number) {
  const { nonce } = nonces.issue(job.jobId, tinyAt + after);
  return releaseRequest(job, await evidenceBytesBy(session, nonce, { report: { REPORT_ID: reportId } }));
}

async function party() {
  const parties = await tinyBroker(job, { validForSeconds: seconds });
  const { reportId } = own;
  return {
    ...parties,
    release: async (session: TestSession, after: number, launch = reportId) =>
      parties.broker.release(await asked(parties, session, launch, after), tinyAt + after),
    renew: async (session: TestSession, after: number) =>
      parties.broker.renew(await asked(parties, session, reportId, after), tinyAt + after),
  };
}

describe('A-M2 a guest that serves a live session', () => {
  it('A-M2 serves none of another provider, and that ends neither', async () => {
    const { release, renew } = await party();
    await release(own, 0);
    await expect(release(foreign, 1)).rejects.toMatchObject({ code: 'BROKER_DEVICE_IN_USE' });
    await renew(own, 2);
    await release(elsewhere, 3, elsewhere.reportId);
    await release(foreign, seconds + 3);
  });

  it('A-M2 may serve another session of the same provider after a crash, which ends the renewals of the first', async () => {
    const { release, renew, journal } = await party();
    await release(own, 0);
    await release(later, 1);
    await expect(renew(own, 2)).rejects.toMatchObject({ code: 'BROKER_SESSION_SUPERSEDED' });
    await renew(later, 3);
    expect(journal.sessions.find(to0x(keysDigest(own.binding)))).toMatchObject({ ended: false });
  });

  it('A-M2 serves the session that was let in last, also where another had taken it over', async () => {
    const { release, renew } = await party();
    await release(own, 0);
    await release(later, 1);
    await release(own, 2);
    await expect(release(foreign, 3)).rejects.toMatchObject({ code: 'BROKER_DEVICE_IN_USE' });
    await expect(renew(later, 4)).rejects.toMatchObject({ code: 'BROKER_SESSION_SUPERSEDED' });
    await renew(own, 5);
  });

  it('A-M2 serves one of two providers that ask at once', async () => {
    const { release } = await party();
    const asked = await Promise.allSettled([own, foreign].map((session) => release(session, 0)));
    expect(asked.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(asked.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'BROKER_DEVICE_IN_USE' },
    });
  });

  it('A-M2 is remembered past a restart', async () => {
    const { release, config } = await party();
    await release(own, 0);
    const restarted = await tinyBroker(job, config);
    const request = await asked(restarted, foreign, own.reportId, 1);
    const refused = restarted.broker.release(request, tinyAt + 1);
    await expect(refused).rejects.toMatchObject({ code: 'BROKER_DEVICE_IN_USE' });
  });
});

describe('A-M2 GPUs of live sessions', () => {
  const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
  const machine = (...devices: string[]): MachineIdentity => {
    return { reportId: '', chip: 'aa', measurement: 'bb', devices };
  };
  const provider = new Uint8Array(20).fill(1);

  async function book() {
    const { config } = await tinyBroker(job);
    const journal = openJournal(config.journal);
    const hold = (session: number, of: Uint8Array, gpu: string, notAfter: number) =>
      journal.append({
        ...{ at: tinyAt, decision: 'released', dataset: '0x01', jobId: to0x(bytes(session)) },
        ...{ session: to0x(bytes(session)), provider: to0x(of), notAfter, machine: machine(gpu) },
      });
    return { sessions: openSessionStore(journal, () => new Uint8Array(65)), hold };
  }

  it('A-M2 are those that a session showed at first: a renewal brings no others in', async () => {
    const { sessions, hold } = await book();
    hold(1, provider, 'gpu-1', tinyAt + 10);
    sessions.checkMachine(bytes(1), machine('gpu-1'));
    sessions.checkMachine(bytes(1), machine());
    for (const others of [machine('gpu-2'), machine('gpu-1', 'gpu-2')]) {
      expect(() => sessions.checkMachine(bytes(1), others)).toThrow('BROKER_SESSION_MACHINE');
    }
  });

  it('A-M2 are in use for other providers, while their sessions live', async () => {
    const { sessions, hold } = await book();
    hold(1, provider, 'gpu-1', tinyAt + 10);
    hold(2, otherProvider, 'gpu-2', tinyAt + 20);
    const inUse = (session: number, of: Uint8Array, at: number) => [
      ...sessions.devicesOfOthers({ session: bytes(session), provider: of }, at),
    ];
    expect(inUse(3, provider, tinyAt)).toEqual(['gpu-2']);
    expect(inUse(3, otherProvider, tinyAt)).toEqual(['gpu-1']);
    expect(inUse(3, new Uint8Array(20), tinyAt)).toEqual(['gpu-1', 'gpu-2']);
    expect(inUse(3, new Uint8Array(20), tinyAt + 11)).toEqual(['gpu-2']);
    expect(inUse(1, provider, tinyAt)).toEqual(['gpu-2']);
    sessions.end(bytes(2), tinyAt, 'APPRAISAL_REFUSED');
    expect(inUse(3, new Uint8Array(20), tinyAt)).toEqual(['gpu-1']);
    sessions.supersede({ session: bytes(4), provider }, machine('gpu-1'), tinyAt);
    expect(inUse(3, new Uint8Array(20), tinyAt)).toEqual([]);
  });
});
