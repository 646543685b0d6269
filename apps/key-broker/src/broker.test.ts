import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigurationError, fromHex, recoverAddress, to0x, toHex } from '#attestation/base';
import {
  domainSeparator,
  encodeSessionEvidence,
  escrowIdOf,
  keysDigest,
  parseSessionEvidence,
  releaseDigest,
  type KeyBinding,
  type Release,
  type SessionEvidence,
} from '#attestation/records';
import { fakeAmd, tcbBytes } from '#test/fake-amd';
import { evidenceBy, proved, reportedBy, testSession, type EvidenceOptions } from '#test/tiny-evidence';
import {
  chainId,
  contract,
  provider,
  releaseRequest,
  tinyAt,
  tinyBroker,
  tinyBrokerConfig,
  tinyJob,
  type TinyJob,
  type TinyJobOptions,
} from '#test/tiny-job';
import { createBrokerApp, type BrokerApp } from './app.js';
import type { BrokerConfig } from './config.js';

const job = await tinyJob();
const amd = fakeAmd('milan');
const own = await testSession();

interface Shown extends EvidenceOptions {
  readonly binding?: Partial<KeyBinding>;
}

const evidenceOver = async (nonce: Uint8Array, { binding, ...options }: Shown = {}): Promise<SessionEvidence> =>
  evidenceBy(binding === undefined ? own : await testSession(1, binding), nonce, options);

async function ask(options: TinyJobOptions = {}, evidence: Shown = {}, config: Partial<BrokerConfig> = {}) {
  const asked = await tinyJob(options);
  const { broker, nonces } = await tinyBroker(job, config);
  const { nonce } = nonces.issue(asked.jobId, tinyAt);
  const shown = encodeSessionEvidence(await evidenceOver(nonce, evidence));
  return { broker, shown, nonce, asked, released: await broker.release(releaseRequest(asked, shown), tinyAt) };
}

describe('a release', () => {
  it('is signed for the escrow, the session, its key, the evidence and what was sealed', async () => {
    const { broker, shown, nonce, asked, released } = await ask();
    const { release, releaseSignature, sealedKey } = released;
    const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest());
    const expected: Release = {
      job: escrowIdOf(asked.terms),
      provider,
      dataset: asked.spec.dataset.id,
      session: keysDigest(own.binding),
      key: own.binding.settlementKey,
      policy: asked.spec.policyDigest,
      evidence: sha256(shown),
      grant: sha256(sealedKey),
      nonce,
      grantedAt: tinyAt,
      notAfter: tinyAt + 3600,
    };
    expect(release).toEqual(expected);
    const escrow = domainSeparator({ chainId, verifyingContract: contract });
    expect(recoverAddress(releaseDigest(escrow, expected), releaseSignature)).toEqual(broker.account);
  });

  const zero = new Uint8Array(32);
  const spec = (change: NonNullable<TinyJobOptions['spec']>): TinyJobOptions => ({ spec: change });
  const other = new Uint8Array(20).fill(0xee);
  it.each<[string, string, TinyJobOptions, Shown?]>([
    ['BROKER_DATASET', 'another data set', spec({ dataset: { ...job.spec.dataset, id: zero } })],
    ['BROKER_RECIPIENT', 'another recipient', spec({ recipient: zero })],
    ['BROKER_PROGRESS', 'figures of single steps', spec({ progress: { every: 'step' } })],
    ['BROKER_PROGRESS', 'figures of segments', spec({ progress: { every: 'segment' } })],
    ['BROKER_POLICY', 'a job under another policy', spec({ policyDigest: zero })],
    ['BROKER_POLICY', 'an escrow under another policy', { terms: { policy: zero } }],
    ['BROKER_ESCROW', 'an escrow of another job', { terms: { specDigest: zero } }],
    ['BROKER_CHAIN', 'another contract', spec({ settlement: { chainId, contract: other } })],
    ['BROKER_CHAIN', 'another chain', spec({ settlement: { chainId: 1, contract } })],
    ['BROKER_CHAIN', 'a session for another registry', {}, { binding: { registry: other } }],
    ['BROKER_CHAIN', 'a session for another chain', {}, { binding: { chainId: 1 } }],
    ['BROKER_PROVIDER', 'a session of another provider', {}, { binding: { provider: other } }],
    ['BROKER_TRANSPORT_KEY', 'a transport key of small order', {}, { binding: { transportKey: zero } }],
  ])('is refused with %s for %s', async (code, _, options, evidence) => {
    await expect(ask(options, evidence)).rejects.toMatchObject({ code });
  });

  it('is given for figures as fine as the data owner allows, and no finer', async () => {
    const grains = ['none', 'epoch', 'segment', 'step'] as const;
    for (const [most, progress] of grains.entries()) {
      for (const [at, every] of grains.entries()) {
        const asked = ask(spec({ progress: { every } }), {}, { progress });
        if (at <= most) await expect(asked).resolves.toHaveProperty('released.sealedKey');
        else await expect(asked).rejects.toMatchObject({ code: 'BROKER_PROGRESS' });
      }
    }
  });
});

it('reads no endorsements for a job that the owner does not allow: an appraisal costs most', async () => {
  const config = tinyBrokerConfig(job);
  const read = { count: 0 };
  const collateral: typeof config.collateral = () => {
    read.count += 1;
    return config.collateral();
  };
  const zero = new Uint8Array(32);
  for (const options of [{ spec: { recipient: zero } }, { terms: { specDigest: zero } }]) {
    await expect(ask(options, { certificates: [] }, { ...config, collateral })).rejects.not.toMatchObject({
      code: 'APPRAISAL_REFUSED',
    });
  }
  expect(read.count).toBe(0);
  await ask({}, {}, { ...config, collateral });
  expect(read.count).toBe(1);
});

const running: BrokerApp[] = [];
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
});

/** The real application over HTTP. */
async function serve(changes: Partial<BrokerConfig> = {}) {
  const config = tinyBrokerConfig(job, changes);
  const made = await createBrokerApp(config);
  running.push(made);
  await made.app.init();
  const http = request(made.app.getHttpServer());
  return {
    config,
    http,
    async challenge(of: TinyJob = job): Promise<Uint8Array> {
      const answer = await http.post('/v1/challenges').send({ jobId: to0x(of.jobId) });
      return fromHex((answer.body as { nonce: string }).nonce);
    },
    async release(evidence: SessionEvidence | Uint8Array, of: TinyJob = job) {
      const bytes = evidence instanceof Uint8Array ? evidence : encodeSessionEvidence(evidence);
      const parts = Object.entries(releaseRequest(of, bytes));
      const body = Object.fromEntries(parts.map(([name, part]) => [name, Buffer.from(part).toString('base64')]));
      return http.post('/v1/releases').send(body);
    },
    journal: () => readFileSync(config.journal, 'utf8'),
  };
}

interface Problem {
  readonly code: string;
  readonly got: string;
}

async function expectRefused(answer: request.Response, status: number, code: string, named = ''): Promise<void> {
  expect(answer.headers['content-type']).toContain('application/problem+json');
  expect(answer.body).toMatchObject({ code, status });
  expect((answer.body as Problem).got).toContain(named);
  expect(answer.status).toBe(status);
}

describe('over HTTP', () => {
  it('releases once, and its journal holds no secret', async () => {
    const served = await serve();
    const evidence = await evidenceOver(await served.challenge());
    const answer = await served.release(evidence);
    expect(answer.status).toBe(200);
    await expectRefused(await served.release(evidence), 403, 'NONCE_SPENT');
    const lines = served.journal();
    expect(lines.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(lines)).toMatchObject({ decision: 'released', jobId: to0x(job.jobId) });
    expect(statSync(served.config.journal).mode & 0o077).toBe(0);
    const secrets = [job.dataset.key, served.config.signingSecret, served.config.resultSecret];
    for (const secret of secrets) {
      for (const form of ['hex', 'base64'] as const) {
        const text = Buffer.from(secret).toString(form);
        expect(lines).not.toContain(text);
        expect(answer.text).not.toContain(text);
      }
    }
    expect(lines).not.toContain((answer.body as { sealedKey: string }).sealedKey);
  });

  it('refuses evidence over a nonce for another job', async () => {
    const served = await serve();
    const another = await tinyJob({ spec: { salt: new Uint8Array(32) } });
    const nonce = await served.challenge(another);
    await expectRefused(await served.release(await evidenceOver(nonce)), 403, 'NONCE_UNKNOWN');
    await expectRefused(await served.release(await evidenceOver(new Uint8Array(32))), 403, 'NONCE_UNKNOWN');
    expect(served.journal()).toBe('');
  });

  it.each<[string, Partial<KeyBinding>]>([
    ['receipt key', { receiptKey: new Uint8Array(32).fill(7) }],
    ['settlement key', { settlementKey: new Uint8Array(20).fill(7) }],
    ['transport key', { transportKey: new Uint8Array(32).fill(7) }],
  ])('refuses evidence for another %s', async (_, change) => {
    const served = await serve();
    const evidence = await evidenceOver(await served.challenge());
    const swapped = await proved(own, { ...evidence, binding: { ...evidence.binding, ...change } });
    if (change.receiptKey !== undefined) return expectRefused(await served.release(swapped), 403, 'EVIDENCE_PROOF');
    await expectRefused(await served.release(swapped), 403, 'APPRAISAL_REFUSED', 'REPORT_DATA');
  });

  it('refuses evidence whose report is over an older nonce', async () => {
    const served = await serve();
    const old = await reportedBy(own, await served.challenge());
    const nonce = await served.challenge();
    await expectRefused(
      await served.release(await proved(own, { ...old, nonce })),
      403,
      'APPRAISAL_REFUSED',
      'REPORT_DATA',
    );
  });

  const year = 365 * 86_400;
  const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
  const [vcek, ask_, ark] = amd.certificates as [Uint8Array, Uint8Array, Uint8Array];
  const past = { notBefore: tinyAt - 3 * year, notAfter: tinyAt - 2 * year };
  it.each<[string, string, () => Promise<Shown>]>([
    ['of a root that the policy does not name', '', async () => ({ vendor: fakeAmd('milan-other') })],
    ['with the debug bit', 'DEBUG', async () => ({ report: { POLICY: 0x30000n | (1n << 19n) } })],
    ['of another measurement', 'MEASUREMENT', async () => ({ report: { MEASUREMENT: new Uint8Array(48) } })],
    ['of another chip', '', async () => ({ report: { CHIP_ID: new Uint8Array(64).fill(1) } })],
    [
      'of a TCB that its key does not name',
      '',
      async () => ({ report: { REPORTED_TCB: tcbBytes('Milan', { ...amd.vendor.tcb, microcode: 1 }) } }),
    ],
    ['with an expired certificate', 'EXPIRED', async () => ({ certificates: [await amd.leaf(past), ask_, ark] })],
    ['with a tampered leaf', '', async () => ({ certificates: [flipped(vcek, 200), ask_, ark] })],
    ['with a tampered intermediate', '', async () => ({ certificates: [vcek, flipped(ask_, 300), ark] })],
    [
      'with a chain of two vendors',
      '',
      async () => ({ certificates: [vcek, fakeAmd('milan-other').certificates[1]!, ark] }),
    ],
    ['with no certificates', '', async () => ({ certificates: [] })],
    ['with certificates that are none', '', async () => ({ certificates: [Uint8Array.of(0x30, 0x80)] })],
  ])('refuses evidence %s', async (_, named, options) => {
    const served = await serve();
    const evidence = await evidenceOver(await served.challenge(), await options());
    await expectRefused(await served.release(evidence), 403, 'APPRAISAL_REFUSED', named);
    expect(served.journal()).toContain('"decision":"refused"');
  });

  it('refuses a report with any byte of its signature or body changed', async () => {
    const served = await serve();
    for (const at of [0x50, 0x90, 0x1a0, 0x2a0, 0x2e0]) {
      const evidence = await evidenceOver(await served.challenge());
      const cpu = { ...evidence.cpu, report: flipped(evidence.cpu.report, at) };
      await expectRefused(await served.release(await proved(own, { ...evidence, cpu })), 403, 'APPRAISAL_REFUSED');
    }
  });

  it('answers garbage with a problem below 500', async () => {
    const { http } = await serve();
    const bodies: [string, string, string][] = [
      ['/v1/challenges', 'application/json', '{'],
      ['/v1/challenges', 'application/json', '[]'],
      ['/v1/challenges', 'application/json', 'null'],
      ['/v1/challenges', 'application/json', '{"jobId":1}'],
      ['/v1/challenges', 'application/json', `{"jobId":"0x${'A'.repeat(64)}"}`],
      ['/v1/challenges', 'application/json', `{"jobId":"0x${'a'.repeat(64)}","more":1}`],
      ['/v1/challenges', 'text/plain', 'hello'],
      ['/v1/challenges', 'application/json; charset=utf-99', '{}'],
      ['/v1/releases', 'application/json', '{}'],
      ['/v1/releases', 'application/json', '{"spec":"!","terms":"","evidence":""}'],
      ['/v1/releases', 'application/json', '{"spec":"","terms":"","evidence":""}'],
      ['/v1/releases', 'application/json', JSON.stringify({ spec: '/w==', terms: '/w==', evidence: '/w==' })],
      ['/v1/releases', 'application/json', `{"__proto__":{"spec":""},"evidence":"${'A'.repeat(1_500_000)}"}`],
      ['/v1/releases', 'application/json', `{"evidence":"${'A'.repeat(3_000_000)}"}`],
      ['/v1/releases', 'application/json', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
      ['/v1/availability', 'application/json', '{"terms":"","more":""}'],
      ['/v1/availability', 'application/json', '{"terms":""}'],
      ['/v1/availability', 'text/plain', 'hello'],
      ['/v1/nothing', 'application/json', '{}'],
    ];
    for (const [path, type, body] of bodies) {
      const answer = await http.post(path).set('content-type', type).send(body);
      expect([path, body.slice(0, 40), answer.status >= 400 && answer.status < 500]).toEqual([
        path,
        body.slice(0, 40),
        true,
      ]);
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect((answer.body as Problem).code).toMatch(/^[A-Z_]+$/);
    }
    expect((await http.get('/v1/releases')).status).toBe(404);
  });

  it('answers truncated and mutated evidence with a problem below 500', async () => {
    const served = await serve();
    const bytes = encodeSessionEvidence(await evidenceOver(await served.challenge()));
    const changes = [...Array(40).keys()].map((i) => Math.floor((i * bytes.length) / 40));
    for (const at of changes) {
      for (const bad of [bytes.subarray(0, at), flipped(bytes, at)]) {
        const answer = await served.release(bad);
        expect([at, answer.status]).toEqual([at, answer.status < 500 ? answer.status : 'below 500']);
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
    }
    expect(parseSessionEvidence(bytes).nonce).toHaveLength(32);
  });

  it('releases nothing that it cannot record', async () => {
    const served = await serve();
    const nonce = await served.challenge();
    rmSync(dirname(served.config.journal), { recursive: true });
    const answer = await served.release(await evidenceOver(nonce));
    await expectRefused(answer, 503, 'BROKER_JOURNAL');
    expect(answer.text).not.toContain('sealedKey');
    mkdirSync(dirname(served.config.journal));
    expect((await served.release(await evidenceOver(nonce))).status).toBe(200);
  });

  it("keeps what is wrong with its owner's settings to itself", async () => {
    const served = await serve({ dataKey: (id) => loadNothing(id) });
    const answer = await served.release(await evidenceOver(await served.challenge()));
    await expectRefused(answer, 500, 'INTERNAL');
    expect(answer.text).not.toContain('secret-folder');
  });
});

function loadNothing(id: Uint8Array): Uint8Array | null {
  throw new ConfigurationError('BROKER_CONFIG', {
    expected: join('secret-folder', toHex(id)),
    got: 'EACCES',
    rule: 'key broker settings',
  });
}
