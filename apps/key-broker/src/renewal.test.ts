import { appendFileSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { neutralPolicy, type AppraisalPolicy } from '#attestation';
import { fromHex, keccak, recoverAddress, to0x, toHex, utf8 } from '#attestation/base';
import {
  domainSeparator,
  encodeSessionEvidence,
  escrowIdOf,
  keysDigest,
  leaseDigest,
  revocationDigest,
} from '#attestation/records';
import type { SnpReportValues } from '#libs/simulated-vendor';
import { fakeAmd } from '#test/fake-amd';
import { evidenceBy, evidenceBytesBy, proved, reportedBy, testSession, type TestSession } from '#test/tiny-evidence';
import {
  chainId,
  contract,
  escrowThatIs,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyJob,
  type TinyBroker,
  type TinyJob,
} from '#test/tiny-job';

const job = await tinyJob();
const another = await tinyJob({ spec: { salt: new Uint8Array(32) } });
const twin = await tinyJob({ terms: { price: 7n } });
const amd = fakeAmd('milan');
const windowSeconds = 60;
const own = await testSession(1);
const other = await testSession(2);

/** What the data owner demands since: no chip but those of others. */
const chipDenied: AppraisalPolicy = {
  ...job.policy,
  id: 'test:chip-denied',
  snp: { ...neutralPolicy.snp, chipsDenied: [toHex(amd.vendor.hwid)] },
};

async function party() {
  const demanded: { policy: AppraisalPolicy | null } = { policy: null };
  const parties = await tinyBroker(job, { validForSeconds: windowSeconds, restrictions: () => demanded.policy });
  const shown = async (after: number, of: TinyJob, session: TestSession, report: SnpReportValues = {}) => {
    const { nonce } = parties.nonces.issue(of.jobId, tinyAt + after);
    return releaseRequest(of, await evidenceBytesBy(session, nonce, { report }));
  };
  return {
    ...parties,
    demanded,
    shown,
    release: async (after = 0, of = job, session = own) =>
      parties.broker.release(await shown(after, of, session), tinyAt + after),
    renew: async (after: number, of = job, session = own, report?: SnpReportValues) =>
      parties.broker.renew(await shown(after, of, session, report), tinyAt + after),
  };
}

const linesOf = ({ config }: TinyBroker) =>
  readFileSync(config.journal, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { decision: string; revocations?: Record<string, string>[] });
const journalOf = (parties: TinyBroker): string[] => linesOf(parties).map(({ decision }) => decision);

describe('a renewal', () => {
  it('is signed for the session, its escrow and the evidence, and recorded', async () => {
    const parties = await party();
    await parties.release();
    const { lease, leaseSignature } = await parties.renew(40);
    expect(lease).toMatchObject({ grantedAt: tinyAt + 40, notAfter: tinyAt + 40 + windowSeconds });
    expect(lease).toMatchObject({ job: escrowIdOf(job.terms), session: keysDigest(own.binding) });
    expect(lease.policy).toEqual(job.spec.policyDigest);
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    expect(recoverAddress(leaseDigest(domain, lease), leaseSignature)).toEqual(parties.broker.account);
    expect(journalOf(parties)).toEqual(['released', 'renewed']);
  });

  it('keeps a session over many windows, also past a restart of the broker', async () => {
    const parties = await party();
    await parties.release();
    for (const after of [50, 100, 150]) await parties.renew(after);
    const { config } = parties;
    appendFileSync(config.journal, '{"decision":"renewed","session":"0x');
    const restarted = await tinyBroker(job, config);
    const { nonce } = restarted.nonces.issue(job.jobId, tinyAt + 200);
    const asked = releaseRequest(job, await evidenceBytesBy(own, nonce));
    expect((await restarted.broker.renew(asked, tinyAt + 200)).lease.notAfter).toBe(tinyAt + 200 + windowSeconds);
  });

  it('W-H1 loses nothing where the broker restarts for two minutes: sessions stand in the journal, nonces are asked again', async () => {
    const config = { validForSeconds: 300 };
    const before = await tinyBroker(job, config);
    const asked = async (parties: TinyBroker, after: number) => {
      const { nonce } = parties.nonces.issue(job.jobId, tinyAt + after);
      return releaseRequest(job, await evidenceBytesBy(own, nonce));
    };
    await before.broker.release(await asked(before, 0), tinyAt);
    const stale = await asked(before, 60);
    const after = await tinyBroker(job, before.config);
    await expect(after.broker.renew(stale, tinyAt + 180)).rejects.toMatchObject({ code: 'NONCE_UNKNOWN' });
    const fresh = await asked(before, 170);
    await expect(after.broker.renew(fresh, tinyAt + 180)).rejects.toMatchObject({ code: 'NONCE_UNKNOWN' });
    const { lease } = await after.broker.renew(await asked(after, 180), tinyAt + 180);
    expect(lease.notAfter).toBe(tinyAt + 480);
  });

  it.each<[string, string, (p: Awaited<ReturnType<typeof party>>) => Promise<unknown>]>([
    ['BROKER_SESSION_UNKNOWN', 'before any release', (p) => p.renew(1)],
    ['BROKER_SESSION_UNKNOWN', 'of another session', async (p) => (await p.release(), p.renew(1, job, other))],
    ['BROKER_SESSION_UNKNOWN', 'for another job', async (p) => (await p.release(), p.renew(1, another))],
    ['BROKER_SESSION_UNKNOWN', 'for another escrow of the job', async (p) => (await p.release(), p.renew(1, twin))],
    ['BROKER_SESSION_LAPSED', 'past its window', async (p) => (await p.release(), p.renew(windowSeconds + 1))],
  ])('is refused with %s %s', async (code, _, ask) => {
    await expect(ask(await party())).rejects.toMatchObject({ code });
  });

  it('is refused for evidence that was shown before, or over an older nonce', async () => {
    const parties = await party();
    await parties.release();
    const shown = await parties.shown(10, job, own);
    await parties.broker.renew(shown, tinyAt + 10);
    await expect(parties.broker.renew(shown, tinyAt + 11)).rejects.toMatchObject({ code: 'NONCE_SPENT' });
    const { nonce } = parties.nonces.issue(job.jobId, tinyAt + 12);
    const old = await proved(own, { ...(await reportedBy(own, new Uint8Array(32).fill(5))), nonce });
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
    const { nonce } = restarted.nonces.issue(job.jobId, tinyAt + 22);
    const asked = releaseRequest(job, encodeSessionEvidence(await evidenceBy(own, nonce)));
    await expect(restarted.broker.release(asked, tinyAt + 22)).rejects.toMatchObject(ended);
    expect(journalOf(parties)).toContain('session-ended');
    await parties.release(23, job, other);
  });

  it('signs a Revocation of its key for every escrow of it, which anyone may send', async () => {
    const parties = await party();
    await parties.release();
    await parties.release(1, another);
    parties.demanded.policy = chipDenied;
    await expect(parties.renew(20)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    for (const terms of [job.terms, another.terms]) {
      const escrow = escrowIdOf(terms);
      const [revocation, ...more] = parties.journal.sessions.revocationsOf(to0x(escrow));
      expect(more).toEqual([]);
      expect(revocation).toMatchObject({ key: to0x(own.binding.settlementKey) });
      const reason = keccak(utf8('APPRAISAL_REFUSED'));
      const digest = revocationDigest(domain, escrow, own.binding.settlementKey, reason);
      expect(recoverAddress(digest, fromHex(revocation!.signature))).toEqual(parties.broker.account);
    }
    expect(linesOf(parties).flatMap(({ revocations }) => revocations ?? [])).toHaveLength(2);
  });

  const changes: [string, SnpReportValues][] = [
    ['REPORT_ID', { REPORT_ID: new Uint8Array(32).fill(0xee) }],
    ['measurement', { MEASUREMENT: new Uint8Array(48).fill(0xee) }],
  ];
  it.each(changes)('A-M1 is also one whose %s is not that of the release', async (_, report) => {
    const parties = await party();
    await parties.release();
    await expect(parties.renew(20, job, own, report)).rejects.toMatchObject({
      code: expect.stringMatching(/^(BROKER_SESSION_MACHINE|APPRAISAL_REFUSED)$/) as string,
    });
    await expect(parties.renew(21)).rejects.toMatchObject({ code: 'BROKER_SESSION_ENDED' });
  });

  it('is none where nothing could be decided: the session goes on when the chain is back', async () => {
    const parties = await party();
    await parties.release();
    const away = await tinyBroker(job, { ...parties.config, escrow: escrowThatIs('Open', 'None') });
    const { nonce } = away.nonces.issue(job.jobId, tinyAt + 5);
    const asked = releaseRequest(job, await evidenceBytesBy(own, nonce));
    await expect(away.broker.renew(asked, tinyAt + 5)).rejects.toMatchObject({ code: 'BROKER_ESCROW_UNCONFIRMED' });
    await parties.renew(6);
  });

  it('is none where the certificates beside the evidence are not those of its chip', async () => {
    const parties = await party();
    await parties.release();
    for (const certificates of [[], [amd.certificates[0]!], fakeAmd('milan-other').certificates]) {
      const { nonce } = parties.nonces.issue(job.jobId, tinyAt + 5);
      const evidence = await evidenceBytesBy(own, nonce, { certificates });
      const refused = parties.broker.renew(releaseRequest(job, evidence), tinyAt + 5);
      await expect(refused).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    }
    await parties.renew(6);
  });
});
