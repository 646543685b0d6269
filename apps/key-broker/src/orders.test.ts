/** A key is released for what a named client ordered on chain with this broker, and for nothing else. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import {
  availabilityDigest,
  CollateralError,
  encodeTerms,
  jobDigest,
  recoverAddress,
  registryDomainSeparator,
  toHex,
  type Terms,
} from '#attestation';
import { jobStates, type EscrowReader } from '#libs/settlement';
import { fakeAmd } from '#test/fake-amd';
import {
  attested,
  chainId,
  escrowThatIs,
  registry,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyBrokerConfig,
  tinyJob,
  type TinyJobOptions,
} from '#test/tiny-job';
import { createBrokerApp, type BrokerApp } from './app.js';
import type { BrokerConfig } from './config.js';
import { readCollateral } from './collateral.js';

const job = await tinyJob();
const other = new Uint8Array(20).fill(0xee);

async function ask(options: TinyJobOptions = {}, config: Partial<BrokerConfig> = {}) {
  const asked = await tinyJob(options);
  const parties = await tinyBroker(job, config);
  const { evidence } = await attested(asked, parties);
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
    const stateOf: EscrowReader['stateOf'] = () => Promise.reject(new Error('the chain was asked'));
    const { release } = await ask({ terms }, { escrow: { stateOf, close: () => undefined } });
    await expect(release()).rejects.toMatchObject({ code });
  });

  it('is looked up by the very terms of the request', async () => {
    const seen: Terms[] = [];
    const { stateOf } = escrowThatIs('Open');
    const escrow: EscrowReader = { stateOf: (terms) => (seen.push(terms), stateOf(terms)), close: () => undefined };
    const { asked, release } = await ask({ terms: { price: 12_345n } }, { escrow });
    await release();
    expect(seen.map((terms) => toHex(jobDigest(terms)))).toEqual([toHex(jobDigest(asked.terms))]);
  });

  it('waits for a chain that is away, for its confirmations, and then needs no new evidence', async () => {
    const answers = [
      () => Promise.reject(new CollateralError('CHAIN_UNREACHABLE', { expected: '', got: '', rule: '' })),
      () => escrowThatIs('Open', 'None').stateOf(job.terms),
      () => escrowThatIs('Open').stateOf(job.terms),
    ];
    const escrow: EscrowReader = { stateOf: () => answers.shift()!(), close: () => undefined };
    const { config, release } = await ask({}, { escrow });
    await expect(release()).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE', family: 'collateral' });
    await expect(release()).rejects.toMatchObject({ code: 'BROKER_ESCROW_UNCONFIRMED', family: 'collateral' });
    expect(existsSync(config.journal)).toBe(false);
    await release();
    await expect(release()).rejects.toMatchObject({ code: 'NONCE_UNKNOWN' });
  });
});

describe('an appraisal', () => {
  it.each([
    [3600, 3600],
    [604_800, job.policy.resultSecondsMax],
  ])('that the owner lets stand for %i seconds stands for %i from the challenge', async (validForSeconds, seconds) => {
    const parties = await tinyBroker(job, { validForSeconds });
    const { evidence } = await attested(job, parties);
    const { appraisal } = await parties.broker.release(releaseRequest(job, evidence), tinyAt + 30);
    expect(appraisal.notAfter).toBe(tinyAt + seconds);
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
    expect(JSON.parse(last)).toMatchObject({ at: tinyAt, decision: 'released', tier: 'affirming' });
  });

  it('that race for the last place do not both get it', async () => {
    const { config } = await ask();
    const limits = { journal: config.journal, jobsPerDataSet: 1 };
    const [one, two] = [await ask(salted(1), limits), await ask(salted(2), limits)];
    const ended = await Promise.allSettled([one.release(), two.release()]);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
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
    const { crls, rims, ocspAnswers, collateral } = readCollateral(folder);
    expect([crls.length, rims.length, ocspAnswers.length, collateral]).toEqual([2, 1, 1, undefined]);
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

const running: BrokerApp[] = [];
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
});

describe('availability', () => {
  async function asked(ciphertext: Uint8Array, terms: Partial<Terms> = {}, config: Partial<BrokerConfig> = {}) {
    const settings = tinyBrokerConfig(job, { escrow: escrowThatIs('Committed'), ...config });
    const made = await createBrokerApp(settings);
    running.push(made);
    await made.app.init();
    const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
    const answer = await request(made.app.getHttpServer())
      .post('/v1/availability')
      .send({ terms: text(encodeTerms({ ...job.terms, ...terms })), ciphertext: text(ciphertext) });
    return { answer, settings, account: made.broker.account };
  }

  it('is signed over the digest of what came, as large as a result may be', async () => {
    const ciphertext = new Uint8Array(16 * 1024 * 1024).fill(7);
    const { answer, settings, account } = await asked(ciphertext);
    expect(answer.body).toMatchObject({ account: `0x${toHex(account)}` });
    expect(answer.status).toBe(200);
    const { signature } = answer.body as { signature: string };
    const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', ciphertext));
    const domain = registryDomainSeparator({ chainId, verifyingContract: registry });
    const digest = availabilityDigest(domain, jobDigest(job.terms), sha256);
    expect(recoverAddress(digest, Buffer.from(signature.slice(2), 'hex'))).toEqual(account);
    expect(readFileSync(settings.journal, 'utf8')).toContain(toHex(sha256));
  });

  const some = new Uint8Array(100);
  it.each<[number, string, string, Parameters<typeof asked>]>([
    [403, 'BROKER_ACCOUNT', 'an escrow with another key broker', [some, { keyBroker: other }]],
    [403, 'BROKER_ESCROW', 'a run that is not committed', [some, {}, { escrow: escrowThatIs('Started') }]],
    [403, 'BROKER_ESCROW', 'an escrow that is not there', [some, {}, { escrow: escrowThatIs('None') }]],
    [400, 'REQUEST_MALFORMED', 'a larger ciphertext', [new Uint8Array(16 * 1024 * 1024 + 3)]],
  ])('is refused with %i %s for %s', async (status, code, _, parameters) => {
    const { answer, settings } = await asked(...parameters);
    expect(answer.body).toMatchObject({ code, status });
    expect(answer.status).toBe(status);
    appendFileSync(settings.journal, '');
    expect(readFileSync(settings.journal, 'utf8')).toBe('');
  });
});
