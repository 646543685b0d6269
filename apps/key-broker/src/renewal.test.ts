import { appendFileSync, readFileSync } from 'node:fs';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import {
  appraisalDigest,
  encodeSessionEvidence,
  fromHex,
  neutralPolicy,
  recoverAddress,
  registryDomainSeparator,
  reportData,
  sessionLeaseDigest,
  toHex,
  type AppraisalPolicy,
  type KeyBinding,
  type SessionEvidence,
} from '#attestation';
import { simulatedMeasurement, type SnpReportValues } from '#libs/simulated-vendor';
import { fakeAmd } from '#test/fake-amd';
import {
  chainId,
  escrowThatIs,
  provider,
  registry,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyBrokerConfig,
  tinyJob,
  type TinyBroker,
  type TinyJob,
} from '#test/tiny-job';
import { createBrokerApp, type BrokerApp } from './app.js';

const job = await tinyJob();
const another = await tinyJob({ spec: { salt: new Uint8Array(32) } });
const amd = fakeAmd('milan');
const windowSeconds = 60;
const own: KeyBinding = {
  receiptKey: new Uint8Array(32).fill(1),
  settlementKey: new Uint8Array(20).fill(2),
  transportKey: new Uint8Array(32).fill(9),
  provider,
  chainId,
  registry,
};
const other: KeyBinding = { ...own, settlementKey: new Uint8Array(20).fill(3) };

async function evidenceOver(nonce: Uint8Array, binding = own, report: SnpReportValues = {}): Promise<SessionEvidence> {
  const values = { MEASUREMENT: simulatedMeasurement, REPORT_DATA: reportData(nonce, binding), ...report };
  const cpu = { kind: 'simulated-snp', report: await amd.report(values), certificates: amd.certificates } as const;
  return { version: 1, nonce, binding, cpu, gpus: [], claims: new Uint8Array() };
}

/** What the data owner demands since: no chip but those of others. */
const chipDenied: AppraisalPolicy = {
  ...job.policy,
  id: 'test:chip-denied',
  snp: { ...neutralPolicy.snp, chipsDenied: [toHex(amd.vendor.hwid)] },
};

async function party() {
  const demanded: { policy: AppraisalPolicy | null } = { policy: null };
  const parties = await tinyBroker(job, { validForSeconds: windowSeconds, restrictions: () => demanded.policy });
  const shown = async (after: number, of: TinyJob, binding: KeyBinding, report?: SnpReportValues) => {
    const { nonce } = parties.nonces.issue(toHex(of.jobId), tinyAt + after, '127.0.0.1');
    return releaseRequest(of, encodeSessionEvidence(await evidenceOver(nonce, binding, report)));
  };
  return {
    ...parties,
    demanded,
    shown,
    release: async (after = 0, of = job, binding = own) =>
      parties.broker.release(await shown(after, of, binding), tinyAt + after),
    renew: async (after: number, of = job, binding = own, report?: SnpReportValues) =>
      parties.broker.renew(await shown(after, of, binding, report), tinyAt + after),
  };
}

const journalOf = ({ config }: TinyBroker): string[] =>
  readFileSync(config.journal, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { decision: string }).decision);

describe('a renewal', () => {
  it('is signed for the session, its job and the chain, and recorded', async () => {
    const parties = await party();
    await parties.release();
    const { lease, leaseSignature, appraisal, appraisalSignature } = await parties.renew(40);
    expect(lease).toMatchObject({ grantedAt: tinyAt + 40, notAfter: tinyAt + 40 + windowSeconds });
    const { account } = parties.broker;
    expect(recoverAddress(sessionLeaseDigest(job.jobId, own, lease), leaseSignature)).toEqual(account);
    const domain = registryDomainSeparator({ chainId, verifyingContract: registry });
    expect(recoverAddress(appraisalDigest(domain, appraisal), appraisalSignature)).toEqual(account);
    expect(appraisal).toMatchObject({ key: own.settlementKey, provider, notAfter: lease.notAfter });
    expect(journalOf(parties)).toEqual(['released', 'renewed']);
  });

  it('keeps a session over many windows, also past a restart of the broker', async () => {
    const parties = await party();
    await parties.release();
    for (const after of [50, 100, 150]) await parties.renew(after);
    const { config } = parties;
    appendFileSync(config.journal, '{"decision":"renewed","session":"0x');
    const restarted = await tinyBroker(job, { ...config, journal: config.journal });
    const { nonce } = restarted.nonces.issue(toHex(job.jobId), tinyAt + 200, '127.0.0.1');
    const asked = releaseRequest(job, encodeSessionEvidence(await evidenceOver(nonce)));
    expect((await restarted.broker.renew(asked, tinyAt + 200)).lease.notAfter).toBe(tinyAt + 200 + windowSeconds);
  });

  it.each<[string, string, (p: Awaited<ReturnType<typeof party>>) => Promise<unknown>]>([
    ['BROKER_SESSION_UNKNOWN', 'before any release', (p) => p.renew(1)],
    ['BROKER_SESSION_UNKNOWN', 'of another session', async (p) => (await p.release(), p.renew(1, job, other))],
    ['BROKER_SESSION_UNKNOWN', 'for another job', async (p) => (await p.release(), p.renew(1, another))],
    ['BROKER_SESSION_LAPSED', 'past its window', async (p) => (await p.release(), p.renew(windowSeconds + 1))],
  ])('is refused with %s %s', async (code, _, ask) => {
    await expect(ask(await party())).rejects.toMatchObject({ code });
  });

  it('is refused for evidence that was shown before, or over an older nonce', async () => {
    const parties = await party();
    await parties.release();
    const shown = await parties.shown(10, job, own);
    await parties.broker.renew(shown, tinyAt + 10);
    await expect(parties.broker.renew(shown, tinyAt + 11)).rejects.toMatchObject({ code: 'NONCE_UNKNOWN' });
    const { nonce } = parties.nonces.issue(toHex(job.jobId), tinyAt + 12, '127.0.0.1');
    const old = { ...(await evidenceOver(new Uint8Array(32).fill(5))), nonce };
    const asked = releaseRequest(job, encodeSessionEvidence(old));
    await expect(parties.broker.renew(asked, tinyAt + 12)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
  });
});

describe('the first renewal that is refused', () => {
  it('ends the session for good, on every job, also past a restart', async () => {
    const parties = await party();
    await parties.release();
    await parties.release(1, another);
    parties.demanded.policy = chipDenied;
    await expect(parties.renew(20)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    parties.demanded.policy = null;
    const ended = { code: 'BROKER_SESSION_ENDED' };
    await expect(parties.renew(21)).rejects.toMatchObject(ended);
    await expect(parties.renew(21, another)).rejects.toMatchObject(ended);
    await expect(parties.release(21)).rejects.toMatchObject(ended);
    const restarted = await tinyBroker(job, parties.config);
    const { nonce } = restarted.nonces.issue(toHex(job.jobId), tinyAt + 22, '127.0.0.1');
    const asked = releaseRequest(job, encodeSessionEvidence(await evidenceOver(nonce)));
    await expect(restarted.broker.release(asked, tinyAt + 22)).rejects.toMatchObject(ended);
    expect(journalOf(parties)).toContain('session-ended');
    await parties.release(23, job, other);
  });

  it('is none that a stranger sends in its name', async () => {
    const parties = await party();
    await parties.release();
    const forged = { REPORT_DATA: new Uint8Array(64), MEASUREMENT: new Uint8Array(48) };
    await expect(parties.renew(5, job, own, forged)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    expect((await parties.renew(6)).lease.notAfter).toBe(tinyAt + 6 + windowSeconds);
  });

  it('is none where nothing could be decided: the session goes on when the chain is back', async () => {
    const parties = await party();
    await parties.release();
    const away = await tinyBroker(job, { ...parties.config, escrow: escrowThatIs('Open', 'None') });
    const { nonce } = away.nonces.issue(toHex(job.jobId), tinyAt + 5, '127.0.0.1');
    const asked = releaseRequest(job, encodeSessionEvidence(await evidenceOver(nonce)));
    await expect(away.broker.renew(asked, tinyAt + 5)).rejects.toMatchObject({ code: 'BROKER_ESCROW_UNCONFIRMED' });
    await parties.renew(6);
  });
});

const running: BrokerApp[] = [];
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
});

it('is asked for over HTTP as a release is', async () => {
  const made = await createBrokerApp(tinyBrokerConfig(job));
  running.push(made);
  await made.app.init();
  const http = request(made.app.getHttpServer());
  const post = async (path: string): Promise<request.Response> => {
    const challenge = await http.post('/v1/challenges').send({ jobId: `0x${toHex(job.jobId)}` });
    const nonce = fromHex((challenge.body as { nonce: string }).nonce);
    const parts = Object.entries(releaseRequest(job, encodeSessionEvidence(await evidenceOver(nonce))));
    return http.post(path).send(Object.fromEntries(parts.map(([k, v]) => [k, Buffer.from(v).toString('base64')])));
  };
  expect((await post('/v1/renewals')).body).toMatchObject({ code: 'BROKER_SESSION_UNKNOWN', status: 403 });
  expect((await post('/v1/releases')).status).toBe(200);
  const renewed = await post('/v1/renewals');
  expect(renewed.status).toBe(200);
  expect(renewed.body).toMatchObject({
    account: `0x${toHex(made.broker.account)}`,
    lease: { nonce: expect.stringMatching(/^0x/) as string },
  });
  expect(renewed.body).not.toHaveProperty('sealedKey');
});
