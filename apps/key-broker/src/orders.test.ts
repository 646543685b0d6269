/** A key is released for what a named client ordered on chain with this broker, and for nothing else. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CollateralError, to0x, toHex } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import { jobStates, type JobState } from '#libs/settlement';
import { fakeAmd } from '#test/fake-amd';
import { evidenceBytesBy, testSession } from '#test/tiny-evidence';
import { escrowThatIs, releaseRequest, tinyAt, tinyBroker, tinyJob, type TinyJobOptions } from '#test/tiny-job';
import { readCollateral } from './collateral.js';
import type { BrokerConfig } from './config.js';
import type { Escrows } from './escrow.js';

const job = await tinyJob();
const other = new Uint8Array(20).fill(0xee);
const session = await testSession();

async function ask(options: TinyJobOptions = {}, config: Partial<BrokerConfig> = {}) {
  const asked = await tinyJob(options);
  const parties = await tinyBroker(job, config);
  const evidence = await evidenceBytesBy(session, parties.nonces.issue(asked.jobId, tinyAt).nonce);
  const release = () => parties.broker.release(releaseRequest(asked, evidence), tinyAt);
  return { asked, config: parties.config, release };
}

describe('a job that was ordered', () => {
  const lawful = ['Open', 'Accepted', 'Started', 'Committed'];

  it.each(jobStates.map((state) => [state, lawful.includes(state)] as const))(
    'on chain, and is %s there, gets a key: %s',
    async (state, given) => {
      const { release } = await ask({}, { escrow: escrowThatIs(state) });
      if (given) await expect(release()).resolves.toHaveProperty('sealedKey');
      else await expect(release()).rejects.toMatchObject({ code: 'BROKER_ESCROW', detail: { got: state } });
    },
  );

  it.each<[string, string, Partial<Terms>]>([
    ['BROKER_CLIENT', 'a client that the data owner did not name', { client: other }],
    ['BROKER_CLIENT', 'no client', { client: new Uint8Array(20) }],
    ['BROKER_ACCOUNT', 'another key broker', { keyBroker: other }],
    ['BROKER_ACCOUNT', 'no key broker', { keyBroker: new Uint8Array(20) }],
  ])('%s: by %s, is refused before the chain is asked', async (code, _, terms) => {
    const stateOf: Escrows['stateOf'] = () => Promise.reject(new Error('the chain was asked'));
    const { release } = await ask({ terms }, { escrow: { ...escrowThatIs('Open'), stateOf } });
    await expect(release()).rejects.toMatchObject({ code });
  });

  it('is looked up by the very terms of the request', async () => {
    const seen: Terms[] = [];
    const { stateOf } = escrowThatIs('Open');
    const escrow: Escrows = { ...escrowThatIs('Open'), stateOf: (terms) => (seen.push(terms), stateOf(terms)) };
    const { asked, release } = await ask({ terms: { price: 12_345n } }, { escrow });
    await release();
    expect(seen.map((terms) => toHex(escrowIdOf(terms)))).toEqual([toHex(escrowIdOf(asked.terms))]);
  });

  it('waits for a chain that is away, for its confirmations, and then needs no new evidence', async () => {
    const answers = [
      () => Promise.reject(new CollateralError('CHAIN_UNREACHABLE', { expected: '', got: '', rule: '' })),
      () => escrowThatIs('Open', 'None').stateOf(job.terms),
      () => escrowThatIs('Open').stateOf(job.terms),
    ];
    const escrow: Escrows = { ...escrowThatIs('Open'), stateOf: () => answers.shift()!() };
    const { config, release } = await ask({}, { escrow });
    await expect(release()).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE', family: 'collateral' });
    await expect(release()).rejects.toMatchObject({ code: 'BROKER_ESCROW_UNCONFIRMED', family: 'collateral' });
    expect(readFileSync(config.journal, 'utf8')).toBe('');
    await release();
    await expect(release()).rejects.toMatchObject({ code: 'NONCE_SPENT' });
  });
});

describe('a verdict', () => {
  it.each([
    [3600, 3600],
    [604_800, job.policy.resultSecondsMax],
  ])('that the owner lets stand for %i seconds stands for %i from the challenge', async (validForSeconds, seconds) => {
    const parties = await tinyBroker(job, { validForSeconds });
    const evidence = await evidenceBytesBy(session, parties.nonces.issue(job.jobId, tinyAt).nonce);
    const { release } = await parties.broker.release(releaseRequest(job, evidence), tinyAt + 30);
    expect(release).toMatchObject({ grantedAt: tinyAt + 30, notAfter: tinyAt + seconds });
  });
});

describe('jobs of one data set', () => {
  const salted = (salt: number): TinyJobOptions => ({ spec: { salt: new Uint8Array(32).fill(salt) } });

  it('are counted across restarts, each once, and not those of another data set', async () => {
    const { config } = await ask();
    const limits = { journal: config.journal, jobsPerDataSet: 2 };
    const elsewhere = { decision: 'released', dataset: `0x${'ab'.repeat(32)}`, jobId: `0x${'cd'.repeat(32)}` };
    writeFileSync(config.journal, `${JSON.stringify(elsewhere)}\n{"decision":"released","datas\n`);
    for (const salt of [1, 2, 1, 2]) await (await ask(salted(salt), limits)).release();
    await expect((await ask(salted(3), limits)).release()).rejects.toMatchObject({ code: 'BROKER_JOBS' });
    await (await ask(salted(2), limits)).release();
    await (await ask(salted(3), { ...limits, jobsPerDataSet: 3 })).release();
    const last = readFileSync(config.journal, 'utf8').trim().split('\n').at(-1)!;
    expect(JSON.parse(last)).toMatchObject({
      at: tinyAt,
      decision: 'released',
      jobId: to0x((await tinyJob(salted(3))).jobId),
    });
  });

  it('that race for the last place do not both get it', async () => {
    const { config } = await ask();
    const limits = { journal: config.journal, jobsPerDataSet: 1 };
    const [one, two] = [await ask(salted(1), limits), await ask(salted(2), limits)];
    const ended = await Promise.allSettled([one.release(), two.release()]);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});

describe('jobs of one session', () => {
  it('under way are as few as the owner says; what is committed, or over, counts no more', async () => {
    const [first, second] = [await tinyJob(), await tinyJob({ spec: { salt: new Uint8Array(32).fill(1) } })];
    const states: Record<string, JobState> = {};
    const stateOf: Escrows['stateOf'] = async (terms) => {
      const latest = states[toHex(escrowIdOf(terms))] ?? 'Started';
      return { latest, confirmed: latest };
    };
    const escrow = { ...escrowThatIs('Started'), stateOf };
    const { broker, nonces } = await tinyBroker(job, { jobsPerSession: 1, escrow, validForSeconds: 60 });
    const release = async (of: typeof job, after: number, by = session) => {
      const evidence = await evidenceBytesBy(by, nonces.issue(of.jobId, tinyAt + after).nonce);
      return broker.release(releaseRequest(of, evidence), tinyAt + after);
    };
    await release(first, 0);
    await release(first, 1);
    await expect(release(second, 2)).rejects.toMatchObject({ code: 'BROKER_SESSION_JOBS', detail: { got: '1' } });
    states[toHex(escrowIdOf(first.terms))] = 'Committed';
    await release(second, 3);
    states[toHex(escrowIdOf(first.terms))] = 'Started';
    await expect(release(first, 4)).rejects.toMatchObject({ code: 'BROKER_SESSION_JOBS' });
    await release(first, 64);
  });
});

describe('collateral of the data owner', () => {
  const amd = fakeAmd('milan');
  const folderWith = (files: Readonly<Record<string, Uint8Array | string>>): string => {
    const folder = mkdtempSync(join(tmpdir(), 'veritrain-collateral-'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    return folder;
  };

  it('counts at once: a revoked chip gets no key', async () => {
    const dates = { thisUpdate: tinyAt - 60, nextUpdate: tinyAt + 60 };
    const folder = folderWith({ 'milan.crl': await amd.crl(dates), 'README.txt': 'not collateral' });
    const collateral = () => readCollateral(folder);
    await (await ask({}, { collateral })).release();
    writeFileSync(join(folder, 'milan.crl'), await amd.crl({ ...dates, revokedSerials: ['010001'] }));
    await expect((await ask({}, { collateral })).release()).rejects.toMatchObject({
      code: 'APPRAISAL_REFUSED',
      detail: { got: expect.stringContaining('REVOKED') as string },
    });
  });

  it('is read by its endings', () => {
    const folder = folderWith({ 'a.crl': 'one', 'b.xml': 'two', 'c.ocsp': 'three', 'd.crl': 'four' });
    const { crls, rims, ocsp, intel } = readCollateral(folder);
    expect([crls.length, rims.length, ocsp.length, intel.length]).toEqual([2, 1, 1, 0]);
    expect(Buffer.from(rims[0]!).toString()).toBe('two');
  });

  it.each([
    ['a folder that is not there', () => join(folderWith({}), 'nothing')],
    ['Intel collateral that is none', () => folderWith({ 'intel.json': '{}' })],
    ['two JSON files', () => folderWith({ 'a.json': '{}', 'b.json': '{}' })],
    ['a file larger than any list', () => folderWith({ 'a.crl': new Uint8Array(4 * 1024 * 1024 + 1) })],
  ])('BROKER_COLLATERAL: %s', (_, make) => {
    expect(() => readCollateral(make())).toThrow('BROKER_COLLATERAL');
  });
});
